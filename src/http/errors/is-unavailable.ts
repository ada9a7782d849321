import { TimedOut } from '../../async/with-timeout.ts';
import { AnalysisUnavailable } from '../../domain/analysis/analysis.ts';
import { DkimKeysBusy } from '../../domain/ports/dkim-keys.ts';
import { AppendOutcomeUnknown, StoreUnavailable } from '../../domain/ports/event-store.ts';
import { HtmlCheckUnavailable } from '../../domain/ports/html-checker.ts';
import { MailParserUnavailable } from '../../domain/ports/mail-parser.ts';
import { ResolverUnavailable } from '../../domain/ports/resolver.ts';

const OURS = [
  ...[AppendOutcomeUnknown, StoreUnavailable, ResolverUnavailable],
  ...[HtmlCheckUnavailable, AnalysisUnavailable, MailParserUnavailable, DkimKeysBusy, TimedOut],
];

/** Of the platform, when the other side of a connection is away. */
const SYSTEM_CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'],
]);
/** PostgreSQL, Appendix A: connection exceptions, operator intervention, insufficient resources; a cancelled query. */
const POSTGRES_CLASSES = /^(?:08|53|57)[0-9A-Z]{3}$/;
/** What `pg` says without a code when a connection breaks or none is free in time. */
const POSTGRES_SENTENCES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered)/;

const isConnectionFault = (error: Error & { readonly code?: unknown }): boolean => {
  const code = typeof error.code === 'string' ? error.code : '';
  return SYSTEM_CODES.has(code) || POSTGRES_CLASSES.test(code) || POSTGRES_SENTENCES.test(error.message);
};

/** Whether something this service depends on is away: worth a retry, and nothing is wrong with the request. */
export const isUnavailable = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (!(error instanceof Error)) return false;
  return OURS.some((type) => error instanceof type) || isConnectionFault(error);
};
