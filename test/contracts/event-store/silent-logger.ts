import type { Logger } from '../../../src/lib/async/async.ts';

export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
