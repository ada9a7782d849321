#!/usr/bin/env node
import crypto from 'node:crypto';
import { existsSync } from 'node:fs';

// In a checkout of Outbox this is the command of the checkout, which needs no build. A package contains the built one.
const isCheckout = existsSync(new URL('../../src/cli/main.ts', import.meta.url));
if (!isCheckout && crypto.hash === undefined) {
  process.stderr.write(`outbox needs Node 20.12 or later. This is ${process.version}: update Node\n`);
  process.exit(1);
}
await import(isCheckout ? '../../bin/outbox.mjs' : '../dist/bin/outbox.mjs');
