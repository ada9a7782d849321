import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CRASHES } from '../../chaos/crashes/all.ts';
import { FAULTS } from '../../chaos/faults/all.ts';
import { FAIL_POINTS, readFailPoint } from '../../chaos/harness/fault-points.ts';
import { ORACLE_SCENARIOS } from '../../chaos/harness/oracle-scenarios.ts';
import { SIMULATIONS } from '../../chaos/simulation/all.ts';
import { LOCAL_ATTEMPT_TIMES, REMOTE_ATTEMPT_TIMES } from '../../src/workers/create-workers.ts';

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const source = read('docs/reliability.md');
const text = source.replaceAll(/\s+/g, ' ');
const scenarios = [...ORACLE_SCENARIOS, ...CRASHES, ...FAULTS, ...SIMULATIONS].map(({ name }) => name);

interface Proof {
  /** `chaos`, or the path of a test file. */
  readonly where: string;
  readonly name: string;
}

const PROOFS = /^- (?<where>chaos|`test\/[^`]+`):\s+(?<names>`[^`]+`(?:,\s+`[^`]+`)*)$/gm;
const proofs: readonly Proof[] = [...source.matchAll(PROOFS)].flatMap(({ groups }) =>
  [...(groups?.names ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({
    where: (groups?.where ?? '').replaceAll('`', ''),
    name: name.replaceAll(/\s+/g, ' '),
  })),
);
const inChaos = proofs.filter(({ where }) => where === 'chaos');
const inTests = proofs.filter(({ where }) => where !== 'chaos');

/** True for the name of a scenario. A name that ends in … matches by prefix. */
const isScenario = ({ name }: Proof): boolean =>
  name.endsWith('…') ? scenarios.some((each) => each.startsWith(name.slice(0, -1))) : scenarios.includes(name);

/** True if each part of `a suite > a test` is a string in the file. A part that ends in … matches by prefix. */
const isTest = ({ where, name }: Proof): boolean => {
  if (!existsSync(at(where))) return false;
  const file = read(where);
  const isTitle = (title: string): boolean =>
    title.endsWith('…')
      ? ["'", '`'].some((quote) => file.includes(quote + title.slice(0, -1)))
      : file.includes(`'${title}'`);
  return name.split(' > ').every(isTitle);
};

const duration = (ms: number): string => {
  if (ms >= 60_000) return `${ms / 60_000} min`;
  return `${ms / 1_000} s`;
};

/** Value of a constant, or of one of its fields, read from its file. NaN: not found. */
const constantOf = (name: string, file: string): number => {
  const [constant, field] = name.split('.');
  const before = field === undefined ? '' : `\\{[^}]*\\b${field}: `;
  const found = new RegExp(`\\bconst ${constant}(?:: \\w+)? = ${before}([\\d_]+)`).exec(read(file));
  return Number(found?.[1]?.replaceAll('_', '') ?? Number.NaN);
};

const POOL =
  /^\| [^|]+: `(?<file>src\/[^`]+)` (?<numbers>\|[^|]+\|[^|]+)\|[^|]+\| `(?<where>test\/[^`]+)`: `(?<name>[^`]+)` \|$/gm;
/** Matches numbers such as 4,000 (`READERS_MAX`), or 112 MB of it for large ones (`BODY_LIMITS.largeBytesMax`). */
const NUMBER = /(?<number>\d[\d,]*)(?: (?<unit>MB|s|min)\b)?[^`|;,()]*\(`(?<constant>[\w.]+)`\)/g;
const UNITS: Readonly<Record<string, number>> = { MB: 1_000_000, s: 1_000, min: 60_000 };

interface PoolNumber {
  readonly constant: string;
  readonly value: number;
}

/** The numbers in a row, with their constants. */
const numbersIn = (cells: string): readonly PoolNumber[] =>
  [...cells.matchAll(NUMBER)].map(({ groups: { number = '', unit = '', constant = '' } = {} }) => ({
    constant,
    value: Number(number.replaceAll(',', '')) * (UNITS[unit] ?? 1),
  }));

describe('docs/reliability.md', () => {
  test('cites proofs for every promise and for the window', () => {
    const sections = source.split(/^(?=## |\*\*)/m).filter((section) => /^(?:\*\*\d|## The one window)/.test(section));
    expect(sections.length).toBeGreaterThan(7);
    for (const section of sections) expect(section).toMatch(PROOFS);
    expect(source.match(/^- (?:chaos|`test\/)/gm)).toHaveLength(source.match(PROOFS)?.length ?? 0);
  });

  test('names only scenarios that exist', () => {
    expect(inChaos.length).toBeGreaterThan(25);
    expect(inChaos.filter((proof) => !isScenario(proof))).toEqual([]);
  });

  test('names only tests that exist', () => {
    expect(inTests.length).toBeGreaterThan(15);
    expect(inTests.filter((proof) => !isTest(proof))).toEqual([]);
  });

  test('states the actual times of attempts', () => {
    const [local, remote] = [LOCAL_ATTEMPT_TIMES, REMOTE_ATTEMPT_TIMES];
    const margin = ({ leaseMs, attemptMs }: typeof local): string => duration(leaseMs - attemptMs);
    expect(text).toContain(`the lease ends ${duration(local.leaseMs)} after the claim`);
    expect(text).toContain(`server on this machine, ${duration(remote.leaseMs)} after it for any other`);
    expect(text).toContain(
      `later than ${duration(local.attemptMs)} after the claim, or ${duration(remote.attemptMs)} for`,
    );
    expect(text).toContain(`differ by less than ${margin(local)}, or ${margin(remote)} where`);
  });

  test('states the cost of a crash as the constants define it', () => {
    const rows = [...source.matchAll(/^\|[^|]+\| (?<time>[^|]+) \| `(?<name>[\w.]+)` in `(?<file>[^`]+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(8);
    for (const { groups: { time = '', name = '', file = '' } = {} } of rows) {
      expect(`${time} `, name).toMatch(new RegExp(`^${duration(constantOf(name, file))}[ ,]`));
    }
  });

  describe('the table of shared pools', () => {
    const section = /^## Shared pools$.*?(?=^## )/ms.exec(source)?.[0] ?? '';
    const rows = section.split('\n').filter((line) => line.startsWith('| '));
    const pools = [...section.matchAll(POOL)].map(
      ({ groups: { file = '', numbers = '', where = '', name = '' } = {} }) => ({ file, numbers, where, name }),
    );

    test('has a file, numbers and a test in every row', () => {
      expect(pools.length).toBeGreaterThan(15);
      expect(pools).toHaveLength(rows.length - 1);
    });

    test('shows the value of each constant', () => {
      for (const { file, numbers } of pools) {
        const shown = numbersIn(numbers);
        expect(shown.length, file).toBeGreaterThan(0);
        expect(shown, `${file}: ${numbers}`).toHaveLength(numbers.match(/\(`/g)?.length ?? 0);
        expect(
          shown.map(({ constant }) => ({ constant, value: constantOf(constant, file) })),
          file,
        ).toEqual(shown);
      }
    });

    test('names only tests that exist', () => {
      expect(pools.filter((pool) => !isTest(pool))).toEqual([]);
    });
  });

  test('uses a fault injection point that exists', () => {
    const [, point] = /`([a-z-]+#\d+)`/.exec(source) ?? [];
    expect(readFailPoint(point)?.name).toBe('after-mail-send');
  });
});

test('npm run chaos kills a process at every fault injection point', () => {
  const isKilledAt = (point: string): boolean => {
    const named = new RegExp(`\\b${point}(?![\\w-])`);
    return CRASHES.some(({ name }) => named.test(name));
  };
  expect(FAIL_POINTS.length).toBeGreaterThan(50);
  expect(FAIL_POINTS.filter((point) => !isKilledAt(point))).toEqual([]);
});
