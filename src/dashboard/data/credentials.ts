import type { SerializedSession } from '../../http/resources/members/members.ts';
import type { Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * Decides how requests are authenticated. No other module does. A request uses the member's session, whose cookie
 * scripts cannot read, or else an API key of the environment, which is stored until the tab closes. Credentials are
 * sent only to this service.
 */

export type Keys = Readonly<Partial<Record<Environment, string>>>;

const STORED = 'outbox-keys';
const KEY = /^ob_(?<environment>live|test)_\S+$/;

const stored = (): Keys => {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? '{}') as Keys; // only this module writes it
  } catch {
    return {};
  }
};

export const keys = createStore<Keys>(stored());

const keep = (changed: Keys): void => {
  sessionStorage.setItem(STORED, JSON.stringify(changed));
  keys.set(changed);
};

/** Storage key of a hint that a session may exist. Without it the service is not asked for one. */
const MAY_BE_SIGNED_IN = 'outbox-signed-in';

/** The current session; null: signed out; undefined: not yet known. */
export const session = createStore<SerializedSession | null | undefined>(
  localStorage.getItem(MAY_BE_SIGNED_IN) === null ? null : undefined,
);

/** True if the session on screen has ended. The screen keeps what was typed until its member signs in again. */
export const hasEnded = createStore(false);

/** Records the service's answer about the session; null: signed out. */
export const noteSession = (found: SerializedSession | null): void => {
  if (found === null) localStorage.removeItem(MAY_BE_SIGNED_IN);
  else localStorage.setItem(MAY_BE_SIGNED_IN, 'yes');
  session.set(found);
  hasEnded.set(false);
};

/** @returns the environment of the key, or null if the text is not an API key. */
export const environmentOfKey = (text: string): Environment | null =>
  (KEY.exec(text.trim())?.groups?.environment as Environment | undefined) ?? null;

export const enterKey = (environment: Environment, key: string): void => keep({ ...keys.get(), [environment]: key });
/** Deletes the stored keys of both environments. */
export const forgetKeys = (): void => keep({});

/** Discards credentials that the service has rejected. */
export const forget = (environment: Environment): void => {
  if (session.get()) hasEnded.set(true);
  else keep({ ...keys.get(), [environment]: undefined });
};

export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** Members select the environment with a query parameter. */
  readonly query: Readonly<Record<string, string>>;
  /** The service rejects a request that carries both a key and a session. */
  readonly credentials: RequestCredentials;
}

/** @param key replaces the stored key. */
export const authorizationFor = (environment: Environment, key?: string): Authorization => {
  if (key === undefined && session.get() !== null)
    return { headers: {}, query: environment === 'test' ? { environment } : {}, credentials: 'same-origin' };
  const shown = key ?? keys.get()[environment];
  return {
    headers: shown === undefined ? {} : { authorization: `Bearer ${shown}` },
    query: {},
    credentials: 'omit',
  };
};

/** True if requests to the environment can be made: by the session, or by a key that was entered. */
export const isOpen = (environment: Environment): boolean =>
  Boolean(session.get()) || keys.get()[environment] !== undefined;

/** The environment for organization-wide requests. Members use live; a key can use only its own. */
export const environmentOfOrganization = (shown: Environment): Environment => (session.get() ? 'live' : shown);
