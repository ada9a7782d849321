import { expect, test } from 'vitest';
import { operationsOf, readOpenApi } from '../support/openapi/document.ts';
import { startService } from './support/service.ts';

/** Filters by an id that are not named for it. */
const UNNAMED = ['domain', 'api_key', 'template'];
const FILTERS_AT_LEAST = 15;

/** Impossible for every kind: without a random part, of another kind, empty. */
const IMPOSSIBLE = ['not_an_id', `evt_${'a'.repeat(26)}`, ''];

test('every filter by an id names the field and the remedy if no resource can have that id', async () => {
  const service = await startService();
  try {
    const organizationId = await service.makeOrganization();
    const { value: key } = await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'));
    const document = readOpenApi((await service.request({ url: '/openapi.json' })).json());
    const filters = operationsOf(document).flatMap(({ path, operation }) =>
      operation.parameters
        .filter((one) => one.in === 'query' && (one.name.endsWith('_id') || UNNAMED.includes(one.name)))
        .map(({ name, schema }) => ({ path, name, schema })),
    );
    expect(filters.length).toBeGreaterThanOrEqual(FILTERS_AT_LEAST);
    for (const { path, name, schema } of filters) {
      expect(schema.pattern, `${path} ${name}`).toBeTypeOf('string');
      for (const value of IMPOSSIBLE) {
        const answer = await service.request({ url: `${path}?${name}=${value}`, key });
        const { code, details } = answer.json().error;
        expect([answer.statusCode, code, Object.keys(details)], `${path} ${name}`).toEqual([
          400,
          'invalid_request',
          [name],
        ]);
        expect(details[name][0]).toMatch(new RegExp(`^${name} must be .*(?:GET /v1/|X-Request-Id)`));
      }
    }
  } finally {
    await service.close();
  }
});
