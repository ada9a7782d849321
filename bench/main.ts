import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createLogger, createSystem } from '../src/adapters/system.ts';
import { type Closers, createClosers } from '../src/composition/lifecycle.ts';
import type { Logger } from '../src/lib/async/async.ts';
import type { Bench, Measure } from './harness/bench.ts';
import { createCorpus } from './harness/corpus.ts';
import { type DurablePostgres, openDurablePostgres } from './harness/durable-postgres.ts';
import { openFolder } from './harness/folder.ts';
import { type JudgedLine, judge } from './harness/line.ts';
import { machineFacts, noise, syncMs } from './harness/machine.ts';
import { profiled } from './harness/profile.ts';
import { sharesOf } from './harness/stages.ts';
import { budgetsOf, cpuTextOf, sharesText, statementsText, tableOf } from './harness/table.ts';
import { BY_NAME, IN_EVERY_RUN } from './measures/all.ts';

const MEASURES = [...IN_EVERY_RUN, ...BY_NAME];

const RESULTS = fileURLToPath(new URL('results/', import.meta.url));
/** Rounds per line. Fewer: faster, but figures vary more. */
const ROUNDS_DEFAULT = '5';
/** Long enough to detect a leak of one megabyte a minute. */
const MINUTES_DEFAULT = '10';
/** 128 plus SIGINT, by shell convention. */
const INTERRUPTED = 130;

const namesOf = (measures: readonly Measure[]): string => measures.map(({ name }) => name).join(', ');

const USAGE = `npm run bench -- [names…] [--rounds 5] [--minutes 10] [--profile]
  names      any of ${namesOf(IN_EVERY_RUN)}; none: all of them
             and, only by name: ${namesOf(BY_NAME)}
  --rounds   rounds of each line, whose median is printed
  --minutes  how long \`soak\` goes on
  --profile  writes CPU profiles of the measured processes to bench/results, and tells what they spent their time on`;

const readArguments = () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: ROUNDS_DEFAULT },
      minutes: { type: 'string', default: MINUTES_DEFAULT },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => !MEASURES.some((measure) => measure.name === name));
  const rounds = Number(values.rounds);
  const minutes = Number(values.minutes);
  const isRight = unknown.length === 0 && Number.isInteger(rounds) && rounds >= 1 && minutes > 0;
  if (values.help || !isRight) {
    console.log(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  const chosen = positionals.length === 0 ? IN_EVERY_RUN : MEASURES.filter(({ name }) => positionals.includes(name));
  return { chosen, rounds, minutes, profile: values.profile };
};

type Arguments = ReturnType<typeof readArguments>;

interface RunResult {
  readonly lines: readonly JudgedLine[];
  /** Share of the machine that other processes used just before each measurement. */
  readonly othersBusy: Readonly<Record<string, number>>;
}

const measureAll = async ({ chosen, profile }: Arguments, bench: Omit<Bench, 'closers'>): Promise<RunResult> => {
  const lines: JudgedLine[] = [];
  const othersBusy: Record<string, number> = {};
  for (const measure of chosen) {
    const { name } = measure;
    const busy = await noise();
    othersBusy[name] = Number(busy.toFixed(2));
    const beganMs = performance.now();
    const measureOne = () => runOne(measure, bench);
    lines.push(...(await (profile ? profiled(RESULTS, name, measureOne) : measureOne())));
    const seconds = Math.round((performance.now() - beganMs) / 1000);
    console.error(`${name}: ${seconds} s; before it, others used ${Math.round(busy * 100)} % of the machine`);
  }
  return { lines, othersBusy };
};

/** Open resources, to be closed when the run is interrupted. */
const open: Closers[] = [];
/** True after an interruption. Measurements then fail, which must not be reported or close anything twice. */
let interrupted = false;

const closeAll = async (): Promise<void> => {
  for (let last = open.pop(); last !== undefined; last = open.pop()) await last.closeAll();
};

const withClosers = async <T>(logger: Logger, work: (closers: Closers) => Promise<T>): Promise<T> => {
  const closers = createClosers(logger);
  open.push(closers);
  try {
    return await work(closers);
  } finally {
    if (!interrupted) await closers.closeAll();
    const at = open.indexOf(closers);
    if (at !== -1) open.splice(at, 1);
  }
};

/** Runs one measurement. A failure is reported and does not stop the others. */
const runOne = ({ name, run }: Measure, bench: Omit<Bench, 'closers'>): Promise<readonly JudgedLine[]> =>
  withClosers(bench.logger, async (closers) => {
    try {
      return (await run({ ...bench, closers })).map(judge);
    } catch (error) {
      if (interrupted) throw error;
      console.error(error);
      return [judge({ measure: name, unit: 's', rounds: [], failed: String(error) })];
    }
  });

const save = async (result: object): Promise<string> => {
  await mkdir(RESULTS, { recursive: true });
  const file = join(RESULTS, `${new Date().toISOString().replaceAll(':', '-').slice(0, 19)}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
};

const tellProfiles = async (sinceMs: number, postgres: DurablePostgres): Promise<void> => {
  for (const name of (await readdir(RESULTS)).filter((each) => each.endsWith('.cpuprofile'))) {
    const file = join(RESULTS, name);
    if ((await stat(file)).mtimeMs < sinceMs) continue;
    console.log(sharesText(name, sharesOf(JSON.parse(await readFile(file, 'utf8')) as Profiler.Profile)));
  }
  console.log(statementsText(await postgres.busiestStatements()));
};

const tellFigures = (lines: readonly JudgedLine[]): void => {
  for (const text of [tableOf(lines), cpuTextOf(lines), budgetsOf(lines)]) if (text !== '') console.log(text);
};

const main = async (): Promise<void> => {
  const chosen = readArguments();
  const { rounds, minutes, profile } = chosen;
  const logger = createLogger({ level: 'error' });
  const system = createSystem();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted = true;
      void closeAll().finally(() => process.exit(INTERRUPTED));
    });
  }
  await withClosers(logger, async (closers) => {
    const beganMs = Date.now();
    const folder = await openFolder(closers);
    const postgres = await openDurablePostgres(closers, { folder, system, logger, counts: profile });
    const corpus = createCorpus({ system, logger, postgres }, closers);
    const machine = { ...machineFacts(), postgres: postgres.version, syncMs: syncMs(folder) };
    const profiling = profile ? ['--cpu-prof', `--cpu-prof-dir=${RESULTS}`] : [];
    const { lines, othersBusy } = await measureAll(chosen, {
      rounds,
      minutes,
      system,
      logger,
      postgres,
      corpus,
      folder,
      profiling,
    });
    tellFigures(lines);
    if (profile) await tellProfiles(beganMs, postgres);
    console.log(
      Object.entries(machine)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    );
    console.log(`written to ${await save({ at: new Date().toISOString(), machine, rounds, othersBusy, lines })}`);
    process.exitCode = lines.some(({ met }) => met === false) ? 1 : 0;
  });
};

await main().catch((error: unknown) => {
  if (!interrupted) throw error;
});
