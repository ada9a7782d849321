import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { activeSigningKeys, rotateDkim } from '../../../src/commands/sending-domain/change-domain.ts';
import type { ExistingSendingDomain } from '../../../src/domain/sending-domain/sending-domain.ts';
import { openZoneWorld, originOf, type ZoneWorld, zoneOf } from './zone-world.ts';

let world: ZoneWorld;
beforeEach(async () => {
  world = await openZoneWorld();
});
afterEach(() => world.close());

const keysOf = async (domain: ExistingSendingDomain) =>
  activeSigningKeys(await world.current(domain), world.context.secrets);
const rotate = ({ organizationId, domainId }: ExistingSendingDomain) =>
  rotateDkim(world.context, originOf(organizationId), { domainId });

/** @param info SubjectPublicKeyInfo. */
const isOfOnePair = (digest: 'sha256' | null, privateKey: string, info: Buffer): boolean => {
  const publicKey = createPublicKey({ key: info, format: 'der', type: 'spki' });
  return verify(digest, Buffer.from('mail'), publicKey, sign(digest, Buffer.from('mail'), privateKey));
};

describe('the signing keys', () => {
  test('are those whose published record was seen and matches', async () => {
    const pending = await world.register('org_a', 'example.test');
    expect(await keysOf(pending)).toEqual([]);
    world.server.change(zoneOf(pending));
    const { domain } = await world.verify(pending);
    const [rsa, ed, ...others] = await keysOf(domain);
    expect(others).toEqual([]);
    expect([rsa?.algorithm, ed?.algorithm]).toEqual(['rsa-sha256', 'ed25519-sha256']);
    expect(rsa).toMatchObject({ domain: 'example.test', selector: expect.stringMatching(/^ob-r-[0-9a-f]{6}$/) });
    const [rsaInfo, edKey] = domain.dkim.active?.keys.map(({ publicKey }) => Buffer.from(publicKey, 'base64')) ?? [];
    const edInfo = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), edKey as Buffer]);
    expect(isOfOnePair('sha256', rsa?.privateKey as string, rsaInfo as Buffer)).toBe(true);
    expect(isOfOnePair(null, ed?.privateKey as string, edInfo)).toBe(true);
    expect(createPublicKey(createPrivateKey(rsa?.privateKey as string)).asymmetricKeyDetails?.modulusLength).toBe(2048);
  });

  test('cannot be loaded if the vault lacks a private half', async () => {
    const pending = await world.register('org_a', 'example.test');
    world.server.change(zoneOf(pending));
    const { domain } = await world.verify(pending);
    await expect(activeSigningKeys(domain, { get: async () => undefined })).rejects.toThrow(/the vault lacks the key/);
  });

  test('appear in the log with their public halves only', async () => {
    const { domainId } = await world.register('org_a', 'example.test');
    const events = await world.context.store.readStream(`domain-${domainId}`);
    expect(JSON.stringify(events)).not.toContain('PRIVATE');
  });
});

describe('rotating DKIM keys', () => {
  test('changes nothing until the new keys are seen, and then signs with the new keys only', async () => {
    const pending = await world.register('org_a', 'example.test');
    world.server.change(zoneOf(pending));
    const { domain } = await world.verify(pending);
    const before = await keysOf(domain);
    const { domain: rotating } = await rotate(domain);
    expect(rotating.dkim.pending?.keys).toHaveLength(2);
    await world.checkWhenDue(domain);
    expect(await keysOf(domain)).toEqual(before);
    world.server.change(zoneOf(rotating));
    const rotated = await world.checkWhenDue(domain);
    const now = await keysOf(domain);
    expect(now.map(({ selector }) => selector)).toEqual(rotating.dkim.pending?.keys.map(({ selector }) => selector));
    expect(new Set([...before, ...now].map(({ privateKey }) => privateKey)).size).toBe(4);
    expect(rotated.dkim).toMatchObject({ pending: null, retired: [{ selectors: before.map((key) => key.selector) }] });
  });

  test('twice replaces the pending keys', async () => {
    const pending = await world.register('org_a', 'example.test');
    world.server.change(zoneOf(pending));
    const { domain } = await world.verify(pending);
    const { domain: first } = await rotate(domain);
    const { domain: second } = await rotate(domain);
    world.server.change(zoneOf(first));
    expect((await world.checkWhenDue(domain)).dkim.active).toEqual(domain.dkim.active);
    world.server.change(zoneOf(second));
    const rotated = await world.checkWhenDue(domain);
    expect(rotated.dkim.active?.keys).toEqual(second.dkim.pending?.keys);
    expect(rotated.dkim.retired).toHaveLength(1);
  });

  test('during a check never activates keys that were replaced', async () => {
    const pending = await world.register('org_a', 'example.test');
    world.server.change(zoneOf(pending));
    const { domain } = await world.verify(pending);
    const { domain: rotating } = await rotate(domain);
    world.server.change(zoneOf(rotating));
    await Promise.all([world.checkWhenDue(domain), rotate(domain), world.checkWhenDue(domain)]);
    const { active, retired } = (await world.current(domain)).dkim;
    const candidates = [domain.dkim.active?.keys, rotating.dkim.pending?.keys];
    expect(candidates).toContainEqual(active?.keys);
    expect(retired.length).toBe(active?.keys[0]?.selector === domain.dkim.active?.keys[0]?.selector ? 0 : 1);
  });

  test('is refused to other organizations', async () => {
    const { domainId } = await world.register('org_a', 'example.test');
    await expect(rotateDkim(world.context, originOf('org_b'), { domainId })).rejects.toMatchObject({
      code: 'other_organization',
    });
    await expect(rotateDkim(world.context, originOf('org_a'), { domainId, atRevisions: [7] })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
  });
});
