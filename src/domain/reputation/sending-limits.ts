import type { Measure } from './events.ts';

/** Percent from which a sender is warned, slowed and paused; rising. */
export type Limits = readonly [warn: number, slow: number, pause: number];

/** null: it is not judged. */
export type SendingLimits = Readonly<Record<Measure, Limits | null>>;

const OFF = 'off';
const PERCENT = /^\d{1,3}(?:\.\d{1,6})?$/;

const isRising = ([warn, slow, pause]: Limits): boolean => warn > 0 && warn <= slow && slow <= pause && pause <= 100;

/** `2,4,5`, or `off`. @returns undefined: it is neither. */
export const readLimits = (text: string): Limits | null | undefined => {
  if (text === OFF) return null;
  const parts = text.split(',').map((part) => part.trim());
  const [warn, slow, pause] = parts.map(Number);
  if (parts.length !== 3 || !parts.every((part) => PERCENT.test(part))) return undefined;
  if (warn === undefined || slow === undefined || pause === undefined) return undefined;
  const limits: Limits = [warn, slow, pause];
  return isRising(limits) ? limits : undefined;
};
