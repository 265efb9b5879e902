"""What windows cost in all: by line, by cause of idle time and by what ran, without what capturing took."""
