import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Setting {
  readonly type: string;
  readonly default: unknown;
  readonly scope?: string;
  readonly markdownDescription?: string;
}

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: string[] } };
  readonly contributes: {
    readonly commands: { readonly command: string }[];
    readonly menus: Record<string, { readonly command: string }[]>;
    readonly configuration: { readonly properties: Record<string, Setting> };
  };
}

// The tests run in the extension's folder.
const MANIFEST: Manifest = JSON.parse(readFileSync("package.json", "utf8"));
const SETTINGS = MANIFEST.contributes.configuration.properties;

test("every setting says what it does, where it applies and what it is without being set", () => {
  for (const [name, setting] of Object.entries(SETTINGS)) {
    assert.ok(setting.markdownDescription?.endsWith("."), name);
    assert.ok(setting.scope !== undefined, name);
    assert.equal(
      Array.isArray(setting.default) ? "array" : typeof setting.default,
      kindOf(setting.type),
      name,
    );
  }
});

test("what names a program to run is not taken from an untrusted workspace, nor synchronised", () => {
  const restricted = MANIFEST.capabilities.untrustedWorkspaces.restrictedConfigurations;
  const interpreters = Object.keys(SETTINGS).filter((name) => name.endsWith(".interpreter"));
  assert.equal(interpreters.length, 2);
  for (const name of interpreters) {
    assert.ok(restricted.includes(name), name);
    assert.equal(SETTINGS[name]?.scope, "machine-overridable", name);
  }
  for (const name of restricted) {
    assert.ok(name in SETTINGS, name);
  }
});

test("a description links to settings that there are", () => {
  for (const { markdownDescription } of Object.values(SETTINGS)) {
    for (const [, name] of markdownDescription?.matchAll(/`#([^#]+)#`/g) ?? []) {
      assert.ok(name !== undefined && name in SETTINGS, name);
    }
  }
});

test("menus show commands that there are", () => {
  const commands = new Set(MANIFEST.contributes.commands.map(({ command }) => command));
  for (const { command } of Object.values(MANIFEST.contributes.menus).flat()) {
    assert.ok(commands.has(command), command);
  }
});

function kindOf(type: string): string {
  return type === "integer" ? "number" : type;
}
