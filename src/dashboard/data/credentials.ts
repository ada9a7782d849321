import type { Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * The one module that decides how requests are authenticated: with an API key of the environment, which is kept for as
 * long as this tab is open, and is sent nowhere but to this service.
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

/** @returns the environment of the key; null: it is none. */
export const environmentOfKey = (text: string): Environment | null =>
  (KEY.exec(text.trim())?.groups?.environment as Environment | undefined) ?? null;

export const signIn = (environment: Environment, key: string): void => keep({ ...keys.get(), [environment]: key });
/** Forgets the keys of both environments. */
export const signOut = (): void => keep({});

export const forget = (environment: Environment): void => keep({ ...keys.get(), [environment]: undefined });

/** @param key instead of the one that is kept. */
export const authorize = (headers: Headers, environment: Environment, key = keys.get()[environment]): void => {
  if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
};
