import type { Logger } from '../../../src/domain/ports/logger.ts';

export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
