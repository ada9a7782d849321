import { isUnattended } from './attendance.ts';
import { type Authorization, authorizationFor, forget } from './credentials.ts';
import { currentEnvironment, type Environment } from './location.ts';
import { askForPresence } from './presence-asked.ts';

/** Requests to `/v1`, and what may become of them. */

export type Query = Readonly<Record<string, string | number | null | undefined>>;

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: of the screen. */
  readonly environment?: Environment;
  /** Instead of the key that is kept. */
  readonly key?: string;
  /** Nothing is presented yet, and the cookie of the answer is kept. */
  readonly isSigningIn?: true;
}

/** A request that was refused, or that failed. */
export class ApiFault extends Error {
  override readonly name = 'ApiFault';
  /** 0: there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly details: Readonly<Record<string, readonly string[]>>;

  constructor(
    message: string,
    facts: Pick<ApiFault, 'status' | 'code' | 'requestId'> & Partial<Pick<ApiFault, 'details'>>,
  ) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.details = facts.details ?? {};
  }

  /** May succeed if it is tried again. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Adds parameters to a path, which may have some already. Empty ones are left out. */
export const urlOf = (path: string, query: Query = {}): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
};

interface ErrorBody {
  readonly error?: {
    readonly message?: string;
    readonly code?: string;
    readonly details?: Readonly<Record<string, readonly string[]>>;
  };
}

const faultOf = async (response: Response): Promise<ApiFault> => {
  const { error = {} } = (await response.json().catch(() => ({}))) as ErrorBody;
  return new ApiFault(error.message ?? `the service answered ${response.status}`, {
    status: response.status,
    code: error.code ?? 'internal_error',
    requestId: response.headers.get('x-request-id'),
    ...(error.details === undefined ? {} : { details: error.details }),
  });
};

const SIGNING_IN: Authorization = { headers: {}, query: {}, credentials: 'same-origin' };

const isForPresence = (fault: ApiFault, { key, isSigningIn }: Asked): boolean =>
  fault.code === 'presence_required' && key === undefined && isSigningIn === undefined;

/**
 * Where the member has to be present, asks them to prove it and repeats the request.
 * @throws {ApiFault}
 */
export const send = async (path: string, asked: Asked = {}): Promise<Response> =>
  sendOnce(path, asked).catch(async (error: unknown) => {
    if (!(error instanceof ApiFault) || !isForPresence(error, asked) || !(await askForPresence())) throw error;
    return sendOnce(path, asked);
  });

/** @throws {ApiFault} */
const sendOnce = async (path: string, asked: Asked = {}): Promise<Response> => {
  const { method = 'GET', query, body, signal, environment = currentEnvironment(), key, isSigningIn } = asked;
  const authorization = isSigningIn ? SIGNING_IN : authorizationFor(environment, key);
  const headers = new Headers({ ...asked.headers, ...authorization.headers });
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (isUnattended()) headers.set('x-unattended', '1');
  const response = await fetch(urlOf(path, { ...query, ...authorization.query }), {
    method,
    credentials: authorization.credentials,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiFault('The service does not answer.', { status: 0, code: 'unreachable', requestId: null });
  });
  if (response.ok) return response;
  // The key or the session ended: signing in again is the only way on.
  if (response.status === 401 && key === undefined && !isSigningIn) forget(environment);
  throw await faultOf(response);
};

/** @returns the JSON of the answer. @throws {ApiFault} */
export const request = async <T>(path: string, asked: Asked = {}): Promise<T> => {
  const response = await send(path, asked);
  return (response.status === 204 ? undefined : await response.json()) as T;
};
