import { MalformedEvent, UnknownEvent } from './codec.ts';
import { StartRefused } from './start-refused.ts';

/**
 * Whether nobody who follows the log can go on, and another try would change nothing: the process is older than the
 * log, the log is damaged, or it is another log. Who passed over that would lose what follows: the process has to end.
 */
export const isFatal = (error: unknown): boolean =>
  error instanceof UnknownEvent || error instanceof MalformedEvent || error instanceof StartRefused;
