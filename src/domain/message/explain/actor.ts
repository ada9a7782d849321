import type { ExplainedStep } from './explanation.ts';

/** @param actor as events name it: `key:<id>`, `worker:<job>`, `recipient:<id>`, `operator`, `service`. */
export const actorOf = (actor: string): ExplainedStep['actor'] => {
  const [type = '', id = null] = actor.split(':', 2);
  return { type, id };
};

/** The same in words. */
export const byWhom = (actor: string): string => {
  const { type, id } = actorOf(actor);
  if (type === 'key') return `API key ${id}`;
  if (type === 'recipient') return 'the recipient';
  return type === 'operator' ? 'the operator of the service' : 'the service itself';
};
