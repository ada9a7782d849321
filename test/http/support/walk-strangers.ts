import { formatSecret } from '../../../src/domain/api-key/secret.ts';
import type { Service } from './service.ts';
import type { WalkTenant } from './walk.ts';

export type Headers = Readonly<Record<string, string>>;

export const bearer = (value: string): Headers => ({ authorization: `Bearer ${value}` });

const NEVER_ISSUED = formatSecret('live', new Uint8Array(32).fill(7));
const otherEnd = (value: string): string => `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`;

/** Values that never were keys, in the wrong format or never issued. */
const GUESSES: Readonly<Record<string, Headers>> = {
  'no Authorization header': {},
  'a header that is not Bearer': { authorization: `Basic ${NEVER_ISSUED}` },
  'a Bearer without a value': { authorization: 'Bearer ' },
  'two values': { authorization: `Bearer ${NEVER_ISSUED} ${NEVER_ISSUED}` },
  'a value that does not start with ob_': bearer(`sk_live_${NEVER_ISSUED.slice('ob_live_'.length)}`),
  'a value with a bad checksum': bearer(otherEnd(NEVER_ISSUED)),
  'a value that was never issued': bearer(NEVER_ISSUED),
};

/** Keys that once worked, by the reason for their end. */
const ENDED = [
  'an expired key',
  'a revoked key',
  'a deleted key',
  'a key whose domain was deleted',
  'a value that was rotated away',
] as const;
type EndedCredential = (typeof ENDED)[number];

/** Every kind of credential that is not a working key. */
export const STRANGERS: readonly string[] = [...Object.keys(GUESSES), ...ENDED];

/** The headers of each of `STRANGERS`. All ended keys had `admin`. */
export const makeStrangers = async (
  service: Service,
  tenant: WalkTenant,
): Promise<Readonly<Record<string, Headers>>> => {
  const { organizationId, domainId } = tenant;
  const key = tenant.keyOf({ permission: 'admin', environment: 'live' });
  const make = (more: Parameters<Service['makeKey']>[2] = {}, domain = domainId) =>
    service.makeKey(organizationId, domain, more);
  const end = async (method: 'POST' | 'DELETE', url: string, payload?: object): Promise<void> => {
    const { statusCode } = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
    if (statusCode >= 300) throw new Error(`${method} ${url} was answered ${statusCode}`);
  };

  const makers: Readonly<Record<EndedCredential, () => Promise<string>>> = {
    'an expired key': async () => (await make({ expiresAt: '2001-01-01T00:00:00.000Z' })).value,
    'a revoked key': async () => {
      const { id, value } = await make();
      await end('POST', `/v1/api-keys/${id}/revoke`);
      return value;
    },
    'a deleted key': async () => {
      const { id, value } = await make();
      await end('DELETE', `/v1/api-keys/${id}`);
      return value;
    },
    'a key whose domain was deleted': async () => {
      const domain = await tenant.make('domains', 'live');
      const { value } = await make({}, domain);
      await end('DELETE', `/v1/domains/${domain}`);
      return value;
    },
    'a value that was rotated away': async () => {
      const { id, value } = await make();
      await end('POST', `/v1/api-keys/${id}/rotate`, { revoke_previous: true });
      return value;
    },
  };
  const ended: Record<string, Headers> = {};
  for (const name of ENDED) ended[name] = bearer(await makers[name]());
  return { ...GUESSES, ...ended };
};
