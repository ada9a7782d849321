import type { Service } from './service.ts';

type MadeKey = Awaited<ReturnType<Service['makeKey']>>;

export interface Ask {
  /** Value of the calling key. Default: the admin key. */
  readonly by?: string;
  readonly payload?: object | string;
  readonly headers?: Record<string, string>;
}

let domains = 0;

/** Domain names are unique: a name belongs to the first organization that proves it. */
export const makeDomain = (service: Service, organizationId: string): Promise<string> => {
  domains += 1;
  return service.makeDomain(organizationId, `d${domains}.test`);
};

/** An organization with a domain, an admin key and a manage key, and functions to request its keys. */
export const openKeyTenant = async (service: Service) => {
  const organizationId = await service.makeOrganization();
  const domainId = await makeDomain(service, organizationId);
  const admin = await service.makeKey(organizationId, domainId);
  const manager = await service.makeKey(organizationId, domainId, { permissions: ['manage'] });

  /** @param path after `/v1/api-keys`. */
  const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, more: Ask = {}) => {
    const { by = admin.value, payload, headers = {} } = more;
    const answer = await service.request({
      method,
      url: `/v1/api-keys${path}`,
      key: by,
      headers: { ...(typeof payload === 'string' ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    const body = answer.body === '' ? undefined : answer.json();
    return { status: answer.statusCode, code: body?.error?.code, body, headers: answer.headers };
  };

  return {
    organizationId,
    domainId,
    admin,
    manager,
    ask,
    make: (more: Parameters<Service['makeKey']>[2] = { permissions: ['send'] }): Promise<MadeKey> =>
      service.makeKey(organizationId, domainId, more),
    update: (id: string, payload: object, by?: string) =>
      ask('PATCH', `/${id}`, { payload, ...(by === undefined ? {} : { by }) }),
    opens: async (value: string, remoteAddress = '127.0.0.1'): Promise<boolean> =>
      (await service.request({ url: '/v1/nothing', key: value, remoteAddress })).statusCode === 404,
  };
};

export type KeyTenant = Awaited<ReturnType<typeof openKeyTenant>>;
