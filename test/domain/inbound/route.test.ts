import { describe, expect, test } from 'vitest';
import {
  changeInboundRoute,
  createInboundRoute,
  type ExistingInboundRoute,
  type RouteChanges,
  routeFor,
} from '../../../src/domain/inbound/route.ts';

const ROUTE: ExistingInboundRoute = {
  ...{ status: 'active', routeId: 'irt_1', organizationId: 'org_1', domainId: 'dom_1', createdAt: '2026-01-01' },
  ...{ match: '*', action: 'webhook', webhookId: null, order: 0 },
};

describe('a route matches', () => {
  test.each([
    ['sales', 'sales', true],
    ['Sales', 'sALES', true],
    ['sales', 'sales2', false],
    ['*', 'anything', true],
    ['support+*', 'support+42', true],
    ['support+*', 'support+', true],
    ['support+*', 'support', false],
    ['*-bounce', 'a-bounce', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a.c', 'abc', false],
    ['jos\u00e9', 'jose\u0301', true],
    ['*', '', true],
  ])('%s: %s is %s', (match, localPart, expected) => {
    expect(routeFor([{ ...ROUTE, match }], localPart) !== null).toBe(expected);
  });

  test('first by order, then by age', () => {
    const routes = [
      { ...ROUTE, routeId: 'irt_last', order: 2, createdAt: '2025-01-01' },
      { ...ROUTE, routeId: 'irt_younger', order: 1, createdAt: '2026-01-02' },
      { ...ROUTE, routeId: 'irt_older', order: 1, createdAt: '2026-01-01' },
      { ...ROUTE, routeId: 'irt_other', order: 0, match: 'other' },
    ];
    expect(routeFor(routes, 'x')?.routeId).toBe('irt_older');
    expect(routeFor(routes.toReversed(), 'x')?.routeId).toBe('irt_older');
    expect(routeFor([], 'x')).toBe(null);
  });
});

const UNCHANGED: RouteChanges = { match: undefined, action: undefined, webhookId: undefined, order: undefined };
const change = (before: Partial<ExistingInboundRoute>, changes: Partial<RouteChanges>) =>
  changeInboundRoute({ ...ROUTE, ...before }, { organizationId: 'org_1', changes: { ...UNCHANGED, ...changes } });

describe('a change of a route', () => {
  test('that changes nothing is no event', () => {
    expect(change({}, {})).toEqual([]);
    expect(change({}, { match: '*', order: 0, webhookId: null })).toEqual([]);
  });

  test('to an action that posts nothing drops the webhook', () => {
    expect(change({ webhookId: 'whk_1' }, { action: 'store' })).toEqual([
      {
        type: 'InboundRouteChanged',
        data: { routeId: 'irt_1', match: '*', action: 'store', webhookId: null, order: 0 },
      },
    ]);
  });

  test('keeps the webhook with the action `webhook`', () => {
    expect(change({ webhookId: 'whk_1' }, { match: 'a' })[0]?.data).toMatchObject({ webhookId: 'whk_1', match: 'a' });
  });

  test('is refused if it names a webhook that would get nothing', () => {
    const refused = expect.objectContaining({ code: 'invalid_request' });
    expect(() => change({ action: 'store' }, { webhookId: 'whk_1' })).toThrow(refused);
    const { status: _s, organizationId: _o, createdAt: _c, ...created } = ROUTE;
    const command = { ...created, action: 'refuse', webhookId: 'whk_1' } as const;
    expect(() => createInboundRoute({ status: 'absent' }, command)).toThrow(refused);
  });
});
