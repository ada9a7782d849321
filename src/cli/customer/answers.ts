import { CommandFailed, EXIT } from '../failures.ts';

/** Responses of the service: a body or an error. */

/** Exceeds the largest page. A longer response is not from this service. */
const ANSWER_BYTES_MAX = 64_000_000;

export const TRANSIENT: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

const exitCodeOf = (status: number): number | undefined => {
  if (status === 401 || status === 403) return EXIT.unauthorized;
  if (status === 409 || status === 412) return EXIT.conflict;
  return TRANSIENT.has(status) ? EXIT.unavailable : undefined;
};

interface ErrorFields {
  readonly message: string;
  readonly code: string;
  /** Sentences for people, by field name. */
  readonly details: readonly string[];
  readonly retryAfterSeconds: number | undefined;
}

/** The service rejected the request. */
export class ServiceRefused extends CommandFailed {
  override readonly name = 'ServiceRefused';
  readonly status: number;
  readonly code: string;
  /** Sentences for people from the error's `details`. */
  readonly details: readonly string[];
  /** The message, split into sentences. */
  readonly sentences: readonly string[];
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, said: ErrorFields, requestId: string | null) {
    const request = requestId === null ? '' : ` [request ${requestId}]`;
    const details = said.details.filter((sentence) => sentence !== said.message);
    const sentences = [`${said.message} (${said.code})${request}`, ...details];
    super(sentences.join('\n  '), exitCodeOf(status));
    this.sentences = sentences;
    this.status = status;
    this.code = said.code;
    this.details = said.details;
    this.retryAfterSeconds = said.retryAfterSeconds;
  }
}

/** The service is unreachable or temporarily unusable. A proxy may have answered in its place. */
export class Unreachable extends CommandFailed {
  override readonly name = 'Unreachable';
  constructor(message: string) {
    super(message, EXIT.unavailable);
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const errorFieldsIn = (status: number, body: unknown): ErrorFields => {
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const { message, code, details, retry_after: retryAfter } = error;
  const sentences = isRecord(details) ? Object.values(details).flat() : [];
  return {
    message: typeof message === 'string' ? message : `the service answers ${status}`,
    code: typeof code === 'string' ? code : `HTTP ${status}`,
    details: sentences.filter((each): each is string => typeof each === 'string'),
    retryAfterSeconds: typeof retryAfter === 'number' ? retryAfter : undefined,
  };
};

/** undefined if the text is not JSON. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const textOf = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw new Unreachable(`the answer has more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** @param text the response body. */
export const refusedIn = ({ status, headers }: Response, text: string): ServiceRefused =>
  new ServiceRefused(status, errorFieldsIn(status, parsed(text)), headers.get('x-request-id'));
