/** The names under which the SDK offers operations: its generator and the API reference use the same. */

export interface NamedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly method: string;
  readonly path: string;
}

/** For browsers of members and of recipients, and for those who run the service. */
const LEFT_OUT = new Set(['session', 'passkeys', 'recipients', 'service']);
/** The exception: API keys may call it too. */
const WHO_ASKS = 'getSession';

export const isInSdk = ({ tags, operationId }: Pick<NamedOperation, 'tags' | 'operationId'>): boolean =>
  operationId === WHO_ASKS || !LEFT_OUT.has(tags[0] ?? '');

/** `Key` of `key`. */
export const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** `apiKeys` of `api-keys`. */
export const resourceOf = ({ tags }: Pick<NamedOperation, 'tags'>): string =>
  (tags[0] ?? '').replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());

/** Name of a resource as it appears in operation ids. */
const nounOf = (resource: string): string =>
  ({ apiKeys: 'Key', sessions: 'MemberSession' })[resource] ?? capitalized(resource.replace(/s$/, ''));

/** `list` of `listMessages`, `getContent` of `getMessageContent`, `cancelMany` of `cancelMessages`. */
export const functionOf = (operation: NamedOperation): string => {
  const { operationId, method, path } = operation;
  const noun = nounOf(resourceOf(operation));
  const isMany = method === 'POST' && operationId.endsWith(`${noun}s`) && path.split('/').length > 3;
  return operationId.replace(new RegExp(`(?<=[a-z])${noun}s?(?=[A-Z]|$)`), '') + (isMany ? 'Many' : '');
};
