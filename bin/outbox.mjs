#!/usr/bin/env node
// The command `outbox`, for customers and operators: `start` runs the service, everything else is a command of `src/cli`.
// It runs under the Node that comes as a dependency, so that an older one is enough to install it.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As `npm start` does: see `package.json`. */
const START_FLAGS = ['--min-semi-space-size=32', '--max-semi-space-size=32'];

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

const bundledNode = () => {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch {
    return process.execPath; // left out, as in an image that has its own
  }
};

const [command, ...rest] = process.argv.slice(2);
const program = command === 'start' ? [...START_FLAGS, pathOf('../src/main.ts')] : [pathOf('../src/cli/main.ts')];
const words = command === 'start' || command === undefined ? rest : [command, ...rest];

// Node warns that the function by which types are left out is experimental; that it runs TypeScript at all is not.
const flags = pathOf('.').includes('/node_modules/')
  ? ['--disable-warning=ExperimentalWarning', '--import', pathOf('./strip-types.mjs')]
  : [];
const child = spawn(bundledNode(), [...flags, ...program, ...words], { stdio: 'inherit' });
// A terminal's Ctrl-C reaches both; a supervisor's signal this process alone. Nobody stops twice.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`outbox: Node of the package cannot be started (${error.message}): install it again\n`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 1;
  if (signal !== null) process.stderr.write(`outbox: ended by ${signal}\n`);
});
