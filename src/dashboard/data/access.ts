import type { SerializedOperations } from '../../http/resources/members/operations.ts';
import type { GuardedRouteName } from '../../http/route-table.ts';
import { keys, session } from './credentials.ts';
import { type Environment, environmentOf, usePlace } from './location.ts';
import { createStore, useStore } from './store.ts';

/**
 * Operations that the member or key may use, as the service derives them from its route table. Menu, buttons and editors
 * follow this list, and no request is sent that would be refused: refusals would otherwise fill the list of refused
 * requests. If the list cannot be read, everything is shown and the service decides.
 */

export const OPERATIONS_PATH = '/v1/session/operations';

/** An operation by its name in the route table: `POST /v1/api-keys/:id/rotate`. */
export type OperationName = Extract<GuardedRouteName, `${string} /v1/${string}`>;

type Operation = SerializedOperations['data'][number];

export interface Access {
  readonly owners: readonly string[];
  readonly operations: ReadonlyMap<string, Operation>;
}

interface KnownAccess {
  /** The credential that the list is about. */
  readonly of: string;
  /** undefined: not yet read. null: it could not be read. */
  readonly access: Access | null | undefined;
}

const known = createStore<KnownAccess>({ of: '', access: undefined });

/** A member's list is the same in both environments. Each key has its own. */
const credential = (environment: Environment): string => session.get()?.id ?? keys.get()[environment] ?? '';

const nameOf = ({ method, path }: Operation): string => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;

const currentAccess = (environment: Environment): KnownAccess['access'] => {
  const { of, access } = known.get();
  return of === credential(environment) ? access : undefined;
};

/** Records the list of the current member or key. */
export const noteAccess = (environment: Environment, found: SerializedOperations | null): Access | null => {
  const access = found && {
    owners: found.owners,
    operations: new Map(found.data.map((operation) => [nameOf(operation), operation])),
  };
  known.set({ of: credential(environment), access });
  return access;
};

/**
 * Pause before the list is read again after a failure. Shorter: a service in trouble gets one more request for each of the
 * screen's. Longer: refused requests are sent for longer.
 */
const AGAIN_MS = 10_000;
let failedAtMs = Number.NEGATIVE_INFINITY;
let reading: { readonly of: string; readonly done: Promise<Access | null> } | null = null;

type ReadOperations = () => Promise<SerializedOperations>;

/** Reads the list again, for example after the role of the member has changed. Concurrent callers share one request. */
export const refreshAccess = (environment: Environment, read: ReadOperations): Promise<Access | null> => {
  const of = credential(environment);
  if (reading?.of === of) return reading.done;
  const note = (found: SerializedOperations | null): Access | null => {
    if (found === null) failedAtMs = performance.now();
    return credential(environment) === of ? noteAccess(environment, found) : null;
  };
  const done = read()
    .then(note, () => note(null))
    .finally(() => {
      if (reading?.of === of) reading = null;
    });
  reading = { of, done };
  return done;
};

/** @returns null if the list cannot be read. */
export const loadAccess = async (environment: Environment, read: ReadOperations): Promise<Access | null> => {
  const found = currentAccess(environment);
  if (found || (found === null && performance.now() - failedAtMs < AGAIN_MS)) return found;
  return refreshAccess(environment, read);
};

/** Paths with the fewest parameters first: `/v1/messages/cancel` is no id of a message. */
const patternsIn = new WeakMap<Access, readonly (readonly [method: string, pattern: RegExp, operation: Operation])[]>();
const patternsOf = (access: Access) => {
  const made =
    patternsIn.get(access) ??
    [...access.operations.values()]
      .toSorted((left, right) => left.path.split('{').length - right.path.split('{').length)
      .map((operation) => {
        const pattern = operation.path.replaceAll(/\{\w+\}/g, '[^/]+').replace('*', '.+');
        return [operation.method, new RegExp(`^${pattern}$`), operation] as const;
      });
  patternsIn.set(access, made);
  return made;
};

/** The operation that a request uses; undefined: it is not in the list. */
export const operationAt = (access: Access, method: string, path: string): Operation | undefined => {
  const [bare = ''] = path.split('?');
  return patternsOf(access).find(([one, pattern]) => one === method && pattern.test(bare))?.[2];
};

/** The environment in which an operation is used. Members use what exists in live alone from both environments. */
export const environmentFor = (operation: Operation | undefined, shown: Environment): Environment =>
  operation === undefined || !session.get() || operation.environments.includes(shown) ? shown : 'live';

/** Undefined: not yet known. null: unknown, so that the service decides. */
export const useAccess = (): Access | null | undefined => {
  useStore(known);
  useStore(session);
  return currentAccess(environmentOf(usePlace()));
};

const allows = (access: Access | null | undefined, operation: OperationName): boolean =>
  access === null || access?.operations.get(operation)?.allowed === true;

/** True if the member or key may use the operation; false while that is unknown. */
export const useMay = (operation: OperationName): boolean => allows(useAccess(), operation);

/** True if contents of mail are shown in clear. */
export const useSeesContents = (): boolean => useMay('GET /v1/messages/:id/content');

/** Replaces what a role may not see. */
const MASK = '***';

/** True for a text that can be searched for: a masked one finds nothing, or is refused. */
export const useMaySearchFor = (): ((text: string) => boolean) => {
  const seesContents = useSeesContents();
  return (text) => seesContents || !text.includes(MASK);
};

/** True for operations that may be used. */
export const useAllowed = (): ((operation: OperationName) => boolean) => {
  const access = useAccess();
  return (operation) => allows(access, operation);
};

/** True for paths that may be read. */
export const useMayRead = (): ((path: string) => boolean) => {
  const access = useAccess();
  return (path) => access === null || (access !== undefined && operationAt(access, 'GET', path)?.allowed !== false);
};

/** Joins words: `a, b or c`. */
export const listedWords = (words: readonly string[], last: 'and' | 'or'): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;

/** More names make a long sentence. */
const OWNERS_NAMED_MAX = 3;

/** Says who can grant the use of an operation. */
export const remedyFor = ({ owners }: Access, { roles, permission }: Operation): string => {
  if (!session.get()) return `It needs the permission “${permission}”. A key with “admin” can grant it.`;
  const named = owners.slice(0, OWNERS_NAMED_MAX);
  const who =
    named.length === 0
      ? 'An owner'
      : named.length === 1
        ? `${named[0]}, an owner,`
        : `The owners ${listedWords(named, 'and')}`;
  return `${who} can give you the role ${listedWords(roles, 'or')}.`;
};
