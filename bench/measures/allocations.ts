import budgets from '../allocations.json' with { type: 'json' };
import type { Measure } from '../harness/bench.ts';
import type { CallCounts } from '../harness/call-counts.ts';
import { type Line, median, skippedLine, type Unit } from '../harness/line.ts';
import { createRecorder } from '../harness/recorder.ts';
import { openWay, type Way } from '../harness/send-through.ts';
import { bytesByStage, type HeapNode } from '../harness/stages.ts';

/** Smaller: rounds differ by more, and the check fails by chance. Larger: a change that costs a little passes. */
const GROWTH_MAX = 1.05;
const KB = 1_000;
/** On a slower machine fewer messages share each batch, so that each costs more, and no budget is judged. */
const PER_SECOND_MIN = 150;
/** Fewer: what the service does by time rather than by message counts for more. More: a loaded machine takes long. */
const MESSAGES = 2_000;
/** V8 optimizes code, and so leaves out allocations, during the first messages. */
const WARM_UPS = 3;

type Recording = CallCounts & { readonly heap: HeapNode };
type Stages = Readonly<Record<string, number>>;
/** Cost of one message. */
type Figures = Readonly<Record<keyof typeof budgets, number>>;

interface Round {
  readonly figures: Figures;
  /** Kilobytes of heap. */
  readonly stages: Stages;
  readonly perSecond: number;
}

const UNITS: Readonly<Record<keyof typeof budgets, readonly [what: string, unit: Unit]>> = {
  kB: ['heap allocated', 'kB/message'],
  promises: ['promises', 'per message'],
  digests: ['digests', 'per message'],
  rows: ['rows written', 'per message'],
  indexEntries: ['index entries', 'per message'],
  walKb: ['write-ahead log', 'kB/message'],
};
const NAMES = Object.keys(UNITS) as (keyof typeof budgets)[]; // the object's own keys

const measureOne = async (way: Way): Promise<Round> => {
  let [messages, perSecond] = [1, 0];
  let recording: unknown;
  const pass = async (): Promise<void> => {
    ({ messages, perSecond } = await way.pass());
  };
  const writes = await way.service.countWrites(async () => {
    recording = await way.record(pass);
  });
  const { heap, promises, digests } = recording as Recording; // as `profile-on-signal.ts` writes it
  const stages = Object.entries(bytesByStage(heap)).map(([stage, bytes]) => [stage, bytes / KB / messages] as const);
  const figures = {
    kB: stages.reduce((sum, [, kB]) => sum + kB, 0),
    promises: promises / messages,
    digests: digests / messages,
    rows: writes.rows / messages,
    indexEntries: writes.indexEntries / messages,
    walKb: writes.walBytes / KB / messages,
  };
  return { figures, stages: Object.fromEntries(stages), perSecond };
};

/**
 * Allocations of the service and writes of PostgreSQL for one message, from request to recorded outcome. These figures vary
 * little between quiet machines, so each has a budget in `bench/allocations.json`. Lower it when a change saves something.
 */
export const allocations: Measure = {
  name: 'allocations',
  run: async (bench) => {
    const way = await openWay(bench, {
      recorder: createRecorder(bench.folder, 'allocations'),
      messages: MESSAGES,
    });
    for (let warmUp = 0; warmUp < WARM_UPS; warmUp += 1) await way.pass();
    const rounds: Round[] = [];
    while (rounds.length < bench.rounds) rounds.push(await measureOne(way));
    const perSecond = median(rounds.map((round) => round.perSecond));
    const isQuiet = perSecond >= PER_SECOND_MIN;
    const lines = NAMES.map((name): Line => {
      const [what, unit] = UNITS[name];
      return {
        measure: `a message: ${what}`,
        unit,
        rounds: rounds.map(({ figures }) => figures[name]),
        ...(isQuiet ? { floor: { of: 'figure', atMost: budgets[name] * GROWTH_MAX } } : {}),
        ...(name === 'kB' ? { budget: rounds.at(-1)?.stages ?? {}, budgetUnit: 'kB' } : {}),
      };
    });
    const why = `${Math.round(perSecond)} messages/s: the machine is too busy or slow`;
    return isQuiet ? lines : [...lines, skippedLine('a message: budgets', 'per message', why)];
  },
};
