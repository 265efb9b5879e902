// Stands in for VS Code's log writer, which npm carries only as C++ to compile: the same calls on files of Node.js.
const fs = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warning", "error", "critical", "off"];

class Logger {
  #file;
  #formatted = true;
  #level = 0;

  constructor(_type, _name, file) {
    this.#file = file;
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.appendFileSync(file, "");
  }

  clearFormatters() {
    this.#formatted = false;
  }

  setPattern() {
    this.#formatted = true;
  }

  setLevel(level) {
    this.#level = level;
  }

  getLevel() {
    return this.#level;
  }

  write(level, message) {
    if (level >= this.#level) {
      const time = new Date().toISOString().replace("T", " ").replace("Z", "");
      fs.appendFileSync(this.#file, this.#formatted ? `${time} [${LEVELS[level]}] ${message}\n` : message);
    }
  }

  flush() {}

  drop() {}
}

LEVELS.forEach((name, level) => {
  Logger.prototype[name === "warning" ? "warn" : name] = function (message) {
    this.write(level, message);
  };
});

const create = async (name, file) => new Logger("rotating", name, file);

exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
