import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { makeDomain } from './key-tenant.ts';
import type { Service } from './service.ts';

/** An organization, and functions to request its suppressions. */
export const openSuppressionTenant = async (service: Service, environment: Environment = 'live') => {
  const organizationId = await service.makeOrganization();
  const domainId = await makeDomain(service, organizationId);
  const makeKey = async (
    permission: 'admin' | 'read' | 'send' | 'manage',
    of: Environment = environment,
  ): Promise<string> =>
    (await service.makeKey(organizationId, domainId, { permissions: [permission], environment: of })).value;
  const admin = await makeKey('admin');

  /** @param path after `/v1/suppressions`. */
  const ask = async (method: 'GET' | 'POST' | 'DELETE', path = '', payload?: object, key = admin) => {
    const answer = await service.request({
      method,
      url: `/v1/suppressions${path}`,
      key,
      ...(payload === undefined ? {} : { payload }),
    });
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    return {
      status: answer.statusCode,
      text: answer.body,
      headers: answer.headers,
      body: isJson ? answer.json() : null,
    };
  };

  return {
    organizationId,
    domainId,
    admin,
    makeKey,
    ask,
    add: (payload: object) => ask('POST', '', payload),
    check: async (address: string) =>
      (await ask('GET', `/check?address=${encodeURIComponent(address)}`)).body.suppressed as object,
    importCsv: (csv: string) => ask('POST', '/import', { csv }),
    addresses: async (query = ''): Promise<readonly string[]> =>
      (await ask('GET', query)).body.data.map(({ address }: { address: string }) => address),
  };
};

export type SuppressionTenant = Awaited<ReturnType<typeof openSuppressionTenant>>;
