import type { Logger } from '../../src/domain/logger.ts';

export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
