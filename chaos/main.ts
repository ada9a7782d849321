import { CRASHES } from './crashes/all.ts';
import { FAULTS } from './faults/all.ts';
import { readArguments } from './harness/arguments.ts';
import { ORACLE_SCENARIOS } from './harness/oracle-scenarios.ts';
import { closeSharedPostgres } from './harness/postgres-server.ts';
import { runScenarios } from './harness/run-scenarios.ts';
import { SIMULATIONS } from './simulation/all.ts';

const KINDS = [ORACLE_SCENARIOS, CRASHES, FAULTS, SIMULATIONS];

/**
 * Injects faults into the real programs and lets an oracle report what broke: `npm run chaos`, `npm run chaos -- <part
 * of a name>…`, `npm run chaos -- --slice 4m --seed 7`.
 */
try {
  const broken = await runScenarios(KINDS, readArguments(process.argv.slice(2)));
  process.exitCode = broken === 0 ? 0 : 1;
} finally {
  await closeSharedPostgres();
}
