import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { isInside, reachesInto } from "../../../src/interpreter/containment";
import { Folder } from "../folder";

test("inside is by whole names", () => {
  assert.ok(isInside("/net", "/net"));
  assert.ok(isInside("/net/.venv/bin/python", "/net"));
  assert.ok(isInside("/net/..python/python", "/net"));
  assert.ok(!isInside("/network/bin/python", "/net"));
  assert.ok(!isInside("/", "/net"));
  assert.ok(!isInside("/usr/bin/python", "/net"));
});

test("an interpreter elsewhere reaches into no folder", (t) => {
  const folder = new Folder(t);
  const python = folder.program("usr/bin/python3");
  mkdirSync(folder.at("net"));
  assert.ok(!reachesInto(python, [folder.at("net")]));
  assert.ok(!reachesInto(folder.link("usr/bin/python", "python3"), [folder.at("net")]));
  assert.ok(!reachesInto(python, []));
});

test("an interpreter that lies in a folder", (t) => {
  const folder = new Folder(t);
  const python = folder.program("net/.venv/bin/python");
  assert.ok(reachesInto(python, [folder.at("other"), folder.at("net")]));
  assert.ok(reachesInto(folder.at("usr/../net/.venv/bin/python"), [folder.at("net")]));
});

test("a link in a folder to an interpreter elsewhere is still the folder's", (t) => {
  const folder = new Folder(t);
  const python = folder.program("usr/bin/python3");
  assert.ok(reachesInto(folder.link("net/.venv/bin/python", python), [folder.at("net")]));
});

test("a link elsewhere to an interpreter in a folder", (t) => {
  const folder = new Folder(t);
  const python = folder.program("net/.venv/bin/python");
  assert.ok(reachesInto(folder.link("home/bin/python", python), [folder.at("net")]));
  folder.link("home/venv", "../net/.venv");
  assert.ok(reachesInto(folder.at("home/venv/bin/python"), [folder.at("net")]));
});

test("a chain of links that leads through a folder and out again", (t) => {
  const folder = new Folder(t);
  const real = folder.program("usr/bin/python3.12");
  const inFolder = folder.link("net/python", real);
  const outside = folder.link("home/bin/python", inFolder);
  assert.ok(reachesInto(outside, [folder.at("net")]));
});

test("a link out of which '..' leads into a folder", (t) => {
  const folder = new Folder(t);
  folder.program("net/bin/python");
  mkdirSync(folder.at("net/deep"));
  folder.link("home/way", folder.at("net/deep"));
  folder.link("home/python", "way/../bin/python");
  assert.ok(reachesInto(folder.at("home/python"), [folder.at("net")]));
});

test("a folder that is opened through a link", (t) => {
  const folder = new Folder(t);
  const python = folder.program("disk/net/.venv/bin/python");
  folder.link("net", folder.at("disk/net"));
  assert.ok(reachesInto(python, [folder.at("net")]));
  assert.ok(reachesInto(folder.at("net/.venv/bin/python"), [folder.at("disk/net")]));
});

test("a virtual environment elsewhere whose base is in a folder", (t) => {
  const folder = new Folder(t);
  const python = folder.program("home/venv/bin/python");
  folder.write(
    "home/venv/pyvenv.cfg",
    `include-system-site-packages = false\nhome = ${folder.at("net/bin")}\n`,
  );
  folder.program("net/bin/python");
  assert.ok(reachesInto(python, [folder.at("net")]));
  assert.ok(!reachesInto(python, [folder.at("other")]));
});

test("links in a circle lead nowhere", (t) => {
  const folder = new Folder(t);
  folder.link("a", folder.at("b"));
  folder.link("b", folder.at("a"));
  assert.ok(!reachesInto(folder.at("a"), [folder.at("net")]));
});

test("an interpreter that is not there belongs to where it would be", (t) => {
  const folder = new Folder(t);
  assert.ok(reachesInto(folder.at("net/.venv/bin/python"), [folder.at("net")]));
  assert.ok(!reachesInto(folder.at("home/.venv/bin/python"), [folder.at("net")]));
});
