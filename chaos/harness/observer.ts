import { type Operator, openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import type { World } from './world.ts';

/** The log and the database as an operator sees them, beside the programs and past any fault. */
export type Observer = Operator;

/** Close it. */
export const openObserver = ({ observed }: Pick<World, 'observed'>): Promise<Observer> =>
  openOperator(readConfig(observed));
