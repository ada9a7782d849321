import type { SerializedOperations } from '../../http/resources/members/operations.ts';
import { environmentFor, loadAccess, OPERATIONS_PATH, operationAt, refreshAccess, remedyFor } from './access.ts';
import { type Authorization, authorizationFor, forget, hasEnded, keys, session } from './credentials.ts';
import { currentEnvironment, type Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * Tracks whether a person is using this window. Background requests must not extend the session of an absent member.
 */

/**
 * A window is unattended after this long without input. Shorter: a person who only reads loses the session. Longer: an
 * abandoned session stays open for that much longer.
 */
const ATTENDED_MS = 60_000;

let lastMs = Date.now();

const note = (): void => {
  lastMs = Date.now();
};

for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'])
  addEventListener(type, note, { capture: true, passive: true });

const isUnattended = (): boolean => Date.now() - lastMs > ATTENDED_MS;

/**
 * Some requests need proof that the member is present (`presence_required`). Concurrent rejections share one prompt.
 */

/** Receives the answer to the open prompt; null: no prompt is open. */
export const presenceAsked = createStore<{ answer(isProven: boolean): void } | null>(null);

let asking: Promise<boolean> | null = null;

/** @returns false if the member cancels. */
export const askForPresence = (): Promise<boolean> => {
  asking ??= new Promise<boolean>((resolve) => presenceAsked.set({ answer: resolve })).finally(() => {
    asking = null;
    presenceAsked.set(null);
  });
  return asking;
};

/** Requests to `/v1` and their failures. */

export type Query = Readonly<Record<string, string | number | null | undefined>>;

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the environment of the current screen. */
  readonly environment?: Environment;
  /** Replaces the stored API key. */
  readonly key?: string;
  /** The request sends no credentials and stores the session cookie of the response. */
  readonly isSigningIn?: true;
}

/** A request that was rejected or failed. */
export class ApiFault extends Error {
  override readonly name = 'ApiFault';
  /** HTTP status; 0 if there was no response. */
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

  /** True if a retry may succeed. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Adds parameters to a path that may already have some. Empty parameters are omitted. */
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
  return new ApiFault(error.message ?? `the service responded with ${response.status}`, {
    status: response.status,
    code: error.code ?? 'internal_error',
    requestId: response.headers.get('x-request-id'),
    ...(error.details === undefined ? {} : { details: error.details }),
  });
};

const SIGNING_IN: Authorization = { headers: {}, query: {}, credentials: 'same-origin' };

const needsPresence = (fault: ApiFault, { key, isSigningIn }: RequestOptions): boolean =>
  fault.code === 'presence_required' && key === undefined && isSigningIn === undefined;

const readOperations = (environment: Environment) => (): Promise<SerializedOperations> =>
  sendOnce(OPERATIONS_PATH, { environment: session.get() ? 'live' : environment }).then((response) => response.json());

/** Reads what the member or key may do. */
export const ensureAccess = async (environment: Environment): Promise<void> => {
  await loadAccess(environment, readOperations(environment));
};

export const SESSION_PATH = '/v1/session';

const PATHS_UNCHECKED: readonly string[] = [OPERATIONS_PATH, SESSION_PATH];

/** Only requests with stored credentials are checked. The list itself, and the session before it is known, are not. */
const isChecked = (path: string, environment: Environment, { key, isSigningIn }: RequestOptions): boolean => {
  if (key !== undefined || isSigningIn || PATHS_UNCHECKED.includes(path) || session.get() === undefined) return false;
  return session.get() !== null || keys.get()[environment] !== undefined;
};

/** While the session has ended, only signing in and asking for a new session make sense. */
const requireSession = (path: string, { key, isSigningIn }: RequestOptions): void => {
  if (!hasEnded.get() || key !== undefined || isSigningIn || path === SESSION_PATH) return;
  throw new ApiFault('Your session has ended.', { status: 401, code: 'unauthorized', requestId: null });
};

/**
 * Does not send what would be refused.
 * @returns the environment to send the request to.
 * @throws {ApiFault} `permission_missing`.
 */
const requireAllowed = async (path: string, options: RequestOptions): Promise<Environment> => {
  const { method = 'GET', environment = currentEnvironment() } = options;
  requireSession(path, options);
  if (!isChecked(path, environment, options)) return environment;
  const access = await loadAccess(environment, readOperations(environment));
  const operation = access === null ? undefined : operationAt(access, method, path);
  if (access !== null && operation?.allowed === false)
    throw new ApiFault(remedyFor(access, operation), { status: 403, code: 'permission_missing', requestId: null });
  return environmentFor(operation, environment);
};

/**
 * Sends a request. If it needs the member to be present, asks them for proof and sends it again.
 * @throws {ApiFault}
 */
export const send = async (path: string, options: RequestOptions = {}): Promise<Response> =>
  sendOnce(path, options).catch(async (error: unknown) => {
    if (!(error instanceof ApiFault) || !needsPresence(error, options) || !(await askForPresence())) throw error;
    return sendOnce(path, options);
  });

/** A refusal may say that the session has ended, or that what it may do has changed. */
const noteRefusal = (
  { status, code }: ApiFault,
  path: string,
  options: RequestOptions & { readonly environment: Environment },
): void => {
  const { key, isSigningIn, environment } = options;
  if (status === 401 && key === undefined && !isSigningIn) forget(environment);
  if (code === 'permission_missing' && isChecked(path, environment, options))
    void refreshAccess(environment, readOperations(environment));
};

/** @throws {ApiFault} */
const sendOnce = async (path: string, options: RequestOptions = {}): Promise<Response> => {
  const { method = 'GET', query, body, signal, key, isSigningIn } = options;
  const environment = await requireAllowed(path, options);
  const authorization = isSigningIn ? SIGNING_IN : authorizationFor(environment, key);
  const headers = new Headers({ ...options.headers, ...authorization.headers });
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
    throw new ApiFault('The service is not responding.', { status: 0, code: 'unreachable', requestId: null });
  });
  if (response.ok) return response;
  const fault = await faultOf(response);
  noteRefusal(fault, path, { ...options, environment });
  throw fault;
};

/** @returns the parsed JSON body. @throws {ApiFault} */
export const request = async <T>(path: string, options: RequestOptions = {}): Promise<T> => {
  const response = await send(path, options);
  return (response.status === 204 ? undefined : await response.json()) as T;
};
