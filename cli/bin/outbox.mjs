#!/usr/bin/env node
import { existsSync } from 'node:fs';

// In a checkout of Outbox this is the command of the checkout, which needs no build. A package contains the built one.
const isCheckout = existsSync(new URL('../../src/cli/main.ts', import.meta.url));
await import(isCheckout ? '../../bin/outbox.mjs' : '../dist/bin/outbox.mjs');
