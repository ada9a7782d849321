import { expect } from 'vitest';
import type { AnyBody, ApiClient } from '../../support/api-client.ts';
import type { Tenant } from './tenant.ts';

/** Ids of a tenant's refused requests, including its attempts to reach the other organization. */
export const refusalsOf = async ({ live, test }: Tenant): Promise<readonly string[]> => {
  // More than one in each environment, so that there is a second page.
  for (const api of [live, test, live, test]) await api.get('/v1/topics/nothing');
  const lists = [live, test].map((api: ApiClient) => api.get('/v1/requests?limit=3'));
  const ids = (await Promise.all(lists)).map(({ body }) => body.data.map(({ id }: AnyBody) => id));
  expect(ids.map(({ length }) => length > 1)).toEqual([true, true]);
  return ids.flat();
};
