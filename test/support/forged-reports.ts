import { expect } from 'vitest';
import { verifyReport } from '../../src/domain/audit/verifier/verify-report.ts';
import type { Report } from '../../src/http/resources/audit/report.ts';
import { NO_POLICY, parseVerifierKey } from '../../src/lib/transparency/transparency.ts';

/** Verifies a report with the key that it names itself. */
export const verifyOwn = (report: Report, text = JSON.stringify(report)) =>
  verifyReport(text, {
    ...{ keys: [parseVerifierKey(report.checkpoint?.verifier_key ?? '')], quorum: { policy: NO_POLICY, count: null } },
    ...{ since: [], expected: [], disclosures: [] },
  });

interface Word {
  /** `facts.Name`, `events.sentence`, `made_at`. */
  readonly field: string;
  change(report: Report): void;
}

type Cells = Record<string, unknown>;

const ENVELOPE = ['object', 'type', 'facts', 'access', 'events', 'names', 'evidence', 'checkpoint'];

/** A change for each value that a report states, beside its proofs. */
const wordsIn = (report: Report): readonly Word[] => {
  const cellsOf = (path: string, pick: (report: Report) => readonly Cells[]): readonly Word[] =>
    pick(report).flatMap((cells, index) =>
      Object.keys(cells)
        .filter((name) => name !== 'proof' && name !== 'note')
        .map((name) => ({
          field: `${path}${name}`,
          change: (changed) => {
            const row = pick(changed)[index] as Cells;
            row[name] = typeof row[name] === 'number' ? row[name] + 1 : `${row[name] ?? ''} x`;
          },
        })),
    );
  const added = (path: string, pick: (report: Report) => Cells | undefined): readonly Word[] =>
    pick(report) === undefined
      ? []
      : [{ field: `${path}more`, change: (changed) => Object.assign(pick(changed) ?? {}, { more: 'x' }) }];
  const facts = report.facts.map(({ name }, index): Word => {
    const change = ({ facts }: Report) => Object.assign(facts[index] ?? {}, { value: 'x' });
    return { field: `fact "${name}"`, change };
  });
  const top = Object.keys(report).filter((name) => !ENVELOPE.includes(name));
  return [
    ...top.map((name): Word => ({ field: name, change: (changed) => Object.assign(changed, { [name]: 'x' }) })),
    ...facts,
    { field: 'facts', change: ({ facts }) => facts.push({ name: 'Another', value: 'x' }) },
    { field: 'facts', change: ({ facts }) => facts.splice(0, 1) },
    ...cellsOf('events.', ({ events }) => events),
    ...cellsOf('access.', ({ access }) => access),
    ...cellsOf('checkpoint.', ({ checkpoint }) => (checkpoint === null ? [] : [checkpoint])),
    ...added('', (changed) => changed as unknown as Cells),
    ...added('events.', ({ events }) => events[0]),
    ...added('access.', ({ access }) => access[0]),
  ];
};

const FIELDS = 'not proved: the fields ';

/** Whether the verifier names the field, or the fact, as not proved. Names and values may contain any text. */
const isListed = (notices: readonly string[], field: string): boolean =>
  notices.some(
    (notice) =>
      notice.startsWith(`not proved: ${field}`) ||
      (notice.startsWith(FIELDS) && notice.slice(FIELDS.length).split(', ').includes(field)),
  );

/** Asserts that each value is derived again, so that another one is a fault, or listed as not proved by its name. */
export const expectEachWordChecked = (report: Report): void => {
  expect(verifyOwn(report)).toMatchObject({ faults: [], doubts: [] });
  for (const { field, change } of wordsIn(report)) {
    const forged = structuredClone(report);
    change(forged);
    const { faults, notices } = verifyOwn(report, JSON.stringify(forged));
    expect([field, faults.length > 0 || isListed(notices, field)]).toEqual([field, true]);
  }
  const { notices } = verifyOwn(report);
  for (const field of ['id', 'title', 'fact "Organization"', 'events.sentence', 'events.by', 'events.at'])
    expect([field, isListed(notices, field)]).toEqual([field, false]);
};
