import type { Logger } from '../../src/domain/logger.ts';

export interface RecordingLogger extends Logger {
  /** Sentences of one level, in order. */
  said(level: 'info' | 'warn' | 'error'): readonly string[];
}

export const createRecordingLogger = (): RecordingLogger => {
  const lines: { readonly level: string; readonly sentence: string }[] = [];
  const note =
    (level: string) =>
    (_fields: object, sentence: string): void => {
      lines.push({ level, sentence });
    };
  return {
    debug: note('debug'),
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
    said: (level) => lines.filter((line) => line.level === level).map(({ sentence }) => sentence),
  };
};
