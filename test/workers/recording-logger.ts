import type { Logger } from '../../src/lib/async/async.ts';

export interface RecordingLogger extends Logger {
  /** Messages of a level, in order. */
  said(level: 'debug' | 'info' | 'warn' | 'error'): readonly string[];
  /** Fields of these messages. */
  fieldsOf(level: 'info' | 'warn' | 'error'): readonly object[];
  /** Field `outcome` of the lines that have both `kind` and `outcome`, in order. */
  outcomes(): readonly unknown[];
}

export const createRecordingLogger = (): RecordingLogger => {
  const lines: { readonly level: string; readonly fields: object; readonly sentence: string }[] = [];
  const note =
    (level: string) =>
    (fields: object, sentence: string): void => {
      lines.push({ level, fields, sentence });
    };
  return {
    debug: note('debug'),
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
    said: (level) => lines.filter((line) => line.level === level).map(({ sentence }) => sentence),
    fieldsOf: (level) => lines.filter((line) => line.level === level).map(({ fields }) => fields),
    outcomes: () => lines.flatMap(({ fields }) => ('kind' in fields && 'outcome' in fields ? [fields.outcome] : [])),
  };
};
