import { type Operator, openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import type { World } from './world.ts';

/** Access to the log and database like an operator's, independent of the programs and unaffected by faults. */
export type Observer = Operator;

/** The caller must close it. */
export const openObserver = ({ observed }: Pick<World, 'observed'>): Promise<Observer> =>
  openOperator(readConfig(observed));
