import { describe, expect, test } from 'vitest';
import { GOOD_REPUTATION, type ReputationLevel } from '../../../src/domain/reputation/reputation.ts';
import type { DueDelivery } from '../../../src/projections/deliveries/queries.ts';
import { createFindReleased, type HeldMail } from '../../../src/workers/delivery/released.ts';

interface Waiting {
  readonly holder: string;
  readonly destination: string;
}

/** A timetable with these rows, which no worker removes. */
const mailOf = (rows: readonly Waiting[]): HeldMail => ({
  holders: async ({ after, limit }) =>
    [...new Set(rows.map(({ holder }) => holder))]
      .filter((holder) => holder > after)
      .sort()
      .slice(0, limit),
  held: async ({ holder, after, limit, total }) => {
    const theirs = Map.groupBy(
      rows.filter((row) => row.holder === holder && row.destination > after),
      ({ destination }) => destination,
    );
    const due = [...theirs]
      .sort()
      .flatMap(([destination, of]) =>
        of.slice(0, limit).map((_, index): DueDelivery => {
          const messageId = `msg_${holder}_${destination}_${index}`;
          return { messageId, destination, environment: 'live', dueAt: '', expiresAt: '' };
        }),
      )
      .slice(0, total);
    return { due, next: due.length < total ? '' : (due.at(-1)?.destination ?? '') };
  },
});

const search = (
  rows: readonly Waiting[],
  levels: Readonly<Record<string, ReputationLevel>> = {},
  isOneServer = true,
) => {
  const offered: string[] = [];
  const look = createFindReleased({
    heldMail: mailOf(rows),
    isOneServer,
    suspensionHolds: { keeps: (holder) => holder === 'organization-org_1' && levels[holder] === 'paused' },
    warmUpHolds: {
      offered: (holder) => void offered.push(holder),
      keeps: (holder) => holder === 'warmUp-dom_gone' || (holder === 'warmUp-dom_1' && levels[holder] !== 'warned'),
    },
    sendingDomains: { isDeleted: (id) => id === 'dom_gone' },
    sendingHolds: {
      reputationOf: (id) => ({ ...GOOD_REPUTATION, level: (!id.includes('-') && levels[id]) || 'good' }),
    },
  });
  return Object.assign(() => look(() => true), { offered });
};

const many = (count: number, holder: string, destination = 'a.example'): readonly Waiting[] =>
  Array.from({ length: count }, () => ({ holder, destination }));

describe('held mail', () => {
  test('is found once its domain is no longer paused', async () => {
    const levels: Record<string, ReputationLevel> = { dom_1: 'paused' };
    const look = search(many(3, 'dom_1'), levels);
    expect(await look()).toEqual([]);
    for (const level of ['good', 'warned'] as const) {
      levels.dom_1 = level;
      const [released] = await look();
      expect(released).toMatchObject({ most: 500, isAll: true });
      expect(released?.found).toHaveLength(3);
    }
  });

  test('is found once its warm-up has ended', async () => {
    const levels: Record<string, ReputationLevel> = {};
    const look = search([...many(3, 'warmUp-dom_1'), ...many(2, 'dom_2')], levels);
    expect((await look()).map(({ found }) => found.length)).toEqual([2]);
    levels['warmUp-dom_1'] = 'warned';
    expect((await look()).map(({ found }) => found.length)).toEqual([2, 3]);
    expect(look.offered).toEqual(['dom_2', 'dom_2', 'warmUp-dom_1']); // with the last page of each
  });

  test('is found once its organization is resumed, whatever its reputation', async () => {
    const levels: Record<string, ReputationLevel> = { 'organization-org_1': 'paused', org_1: 'paused' };
    const look = search([...many(2, 'organization-org_1'), ...many(3, 'org_1')], levels);
    expect(await look()).toEqual([]);
    levels['organization-org_1'] = 'good';
    expect((await look()).flatMap(({ found }) => found)).toHaveLength(2);
  });

  test('is found when its domain is deleted, whatever held it', async () => {
    const levels: Record<string, ReputationLevel> = { dom_gone: 'paused', dom_1: 'paused' };
    const look = search([...many(3, 'dom_gone'), ...many(3, 'dom_1'), ...many(2, 'warmUp-dom_gone')], levels);
    expect((await look()).map(({ found, most }) => [found.length, most])).toEqual([
      [3, 250],
      [2, 250],
    ]);
    levels.dom_gone = 'slowed';
    expect((await look()).map(({ most }) => most)).toEqual([250, 250]);
  });

  test('is found in pages that shrink as more domains are released', async () => {
    const [alone] = await search(many(2_000, 'dom_1'))();
    expect(alone?.found).toHaveLength(500);
    expect(alone?.isAll).toBe(false);
    const ten = Array.from({ length: 10 }, (_, index) => many(300, `dom_${index}`)).flat();
    const all = await search(ten)();
    expect(all.map(({ found }) => found.length)).toEqual(Array.from({ length: 10 }, () => 50));
  });

  test('of a slowed domain is offered one message at a time', async () => {
    const [slowed] = await search(many(200, 'dom_1'), { dom_1: 'slowed' })();
    expect(slowed).toMatchObject({ most: 1, isAll: true });
    expect(slowed?.found.length).toBeGreaterThan(10);
  });

  test('does not hide mail of its domain for other servers', async () => {
    const look = search([...many(2_000, 'dom_1', 'a.example'), ...many(450, 'dom_1', 'b.example')], {}, false);
    const seen = new Set<string>();
    const looks = [...(await look()), ...(await look()), ...(await look())];
    for (const { destination } of looks.flatMap(({ found }) => found)) seen.add(destination);
    expect(seen).toEqual(new Set(['a.example', 'b.example']));
  });

  test('of the hundred and first domain is found in the next search', async () => {
    const look = search(Array.from({ length: 150 }, (_, index) => many(1, `dom_${1000 + index}`)).flat());
    const found = [...(await look()), ...(await look())].flatMap((each) => each.found);
    expect(new Set(found.map(({ messageId }) => messageId)).size).toBe(150);
    expect((await look()).length).toBe(100);
  });
});
