import type { SerializedSession } from '../../http/schemas/member.ts';
import type { Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * The one module that decides how requests are authenticated: by the session of a member, whose cookie no script can read,
 * or else with an API key of the environment, which is kept for as long as this tab is open. Neither is sent anywhere but
 * to this service.
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

/** That there may be a session: without this the service is not asked for one. */
const MAY_BE_SIGNED_IN = 'outbox-signed-in';

/** null: there is none; undefined: the service has not said yet. */
export const session = createStore<SerializedSession | null | undefined>(
  localStorage.getItem(MAY_BE_SIGNED_IN) === null ? null : undefined,
);

/** The service has said who it is; null: nobody any more. */
export const noteSession = (found: SerializedSession | null): void => {
  if (found === null) localStorage.removeItem(MAY_BE_SIGNED_IN);
  else localStorage.setItem(MAY_BE_SIGNED_IN, 'yes');
  session.set(found);
};

/** @returns the environment of the key; null: it is none. */
export const environmentOfKey = (text: string): Environment | null =>
  (KEY.exec(text.trim())?.groups?.environment as Environment | undefined) ?? null;

export const enterKey = (environment: Environment, key: string): void => keep({ ...keys.get(), [environment]: key });
/** Forgets the keys of both environments. */
export const forgetKeys = (): void => keep({});

/** What was presented works no more. */
export const forget = (environment: Environment): void => {
  if (session.get()) noteSession(null);
  else keep({ ...keys.get(), [environment]: undefined });
};

export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** Members say in the query which environment they ask for. */
  readonly query: Readonly<Record<string, string>>;
  /** A key and a session at once are refused. */
  readonly credentials: RequestCredentials;
}

/** @param key instead of what is kept. */
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

/** What concerns the whole organization is asked for of the live environment, by whoever may choose. */
export const environmentOfOrganization = (shown: Environment): Environment => (session.get() ? 'live' : shown);
