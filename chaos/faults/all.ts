import type { Scenario } from '../harness/scenario.ts';
import { CLOCK_SCENARIOS } from './clock-scenarios.ts';
import { DATABASE_SCENARIOS } from './database-scenarios.ts';
import { NETWORK_SCENARIOS } from './network-scenarios.ts';
import { QUEUE_SCENARIOS } from './queue-scenarios.ts';
import { SEVERAL_PROCESSES } from './several-processes.ts';
import { ZOMBIES } from './zombies.ts';

/** Faults of everything outside the service. */
export const FAULTS: readonly Scenario[] = [
  ...NETWORK_SCENARIOS,
  ...DATABASE_SCENARIOS,
  ...QUEUE_SCENARIOS,
  ...CLOCK_SCENARIOS,
  ...SEVERAL_PROCESSES,
  ...ZOMBIES,
];
