import { expect, test } from 'vitest';
import { createProvenServers } from '../../../src/workers/delivery/destination-limits.ts';
import { createSteppableSystem } from '../../support/system.ts';

const HOUR_MS = 3_600_000;
/** Addresses that are remembered of a destination. */
const ADDRESSES_MAX = 32;

const KNOWN = '192.0.2.1';
const OTHER = '192.0.2.2';

const open = () => {
  const system = createSteppableSystem();
  return { system, servers: createProvenServers(system) };
};

test('an address is a stranger while others of its destination, and not it, have accepted mail within the hour', async () => {
  const { system, servers } = open();
  expect(servers.isStrangerTo('b.test', OTHER)).toBe(false);
  servers.note('b.test', [KNOWN], true);
  expect([KNOWN, OTHER].map((address) => servers.isStrangerTo('b.test', address))).toEqual([false, true]);
  expect(servers.isStrangerTo('c.test', OTHER)).toBe(false);
  await system.advance(HOUR_MS - 1);
  expect(servers.isStrangerTo('b.test', OTHER)).toBe(true);
  await system.advance(1);
  expect(servers.isStrangerTo('b.test', OTHER)).toBe(false);
});

test('an address that accepts mail again is remembered for another hour', async () => {
  const { system, servers } = open();
  servers.note('b.test', [KNOWN], true);
  await system.advance(HOUR_MS - 1);
  servers.note('b.test', [KNOWN], true);
  await system.advance(HOUR_MS - 1);
  expect(servers.isStrangerTo('b.test', OTHER)).toBe(true);
});

test('an address that no longer answers well is a stranger like any other', () => {
  const { servers } = open();
  servers.note('b.test', [KNOWN, OTHER], true);
  servers.note('b.test', [KNOWN], false);
  expect([KNOWN, OTHER].map((address) => servers.isStrangerTo('b.test', address))).toEqual([true, false]);
  servers.note('b.test', [OTHER], false);
  expect(servers.isStrangerTo('b.test', KNOWN)).toBe(false);
  servers.note('c.test', [KNOWN], false);
  expect(servers.isStrangerTo('c.test', OTHER)).toBe(false);
});

test('the addresses that accepted mail last are remembered', () => {
  const { servers } = open();
  const addresses = Array.from({ length: ADDRESSES_MAX }, (_, index) => `198.51.100.${index}`);
  servers.note('b.test', addresses, true);
  servers.note('b.test', [addresses[0] ?? '', KNOWN], true);
  expect(servers.isStrangerTo('b.test', addresses[1] ?? '')).toBe(true);
  for (const address of [addresses[0] ?? '', addresses[2] ?? '', KNOWN])
    expect(servers.isStrangerTo('b.test', address)).toBe(false);
});
