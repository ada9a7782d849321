/**
 * SQLSTATE classes that blame the data: data exception, integrity violation, a program limit such as the size of an
 * index row. Everything else (connections, serialization, deadlock, shutdown, full disk, a table that is missing) is
 * about the moment or the installation and would fail for every event.
 */
const DATA_CLASSES: ReadonlySet<string> = new Set(['22', '23', '54']);
const STATEMENT_TOO_COMPLEX = '54001';

/** What code throws about a value it cannot take; drivers and sockets throw plain errors. */
const isAboutAValue = (error: unknown): boolean =>
  error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError;

/** Whether this event will fail however often it is tried, so that it is parked; all else is tried again. */
export const isPoison = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code !== 'string') return isAboutAValue(error);
  return DATA_CLASSES.has(code.slice(0, 2)) && code !== STATEMENT_TOO_COMPLEX;
};
