import type { Position as ServerPosition } from '@eventstore/db-client';
import type { Position } from '../../domain/ports/event-store.ts';

/** Hexadecimal digits of an unsigned 64-bit number. */
const DIGITS = 16;
const SHAPE = /^[0-9a-f]{32}$/;

const padded = (number: bigint): string => number.toString(16).padStart(DIGITS, '0');

/** Commit and prepare position at fixed width, so that positions compare as text. */
export const formatPosition = ({ commit, prepare }: ServerPosition): Position => padded(commit) + padded(prepare);

/** How much of the log lies between two positions: they count its bytes. */
export const bytesBetween = (from: Position, to: Position): number =>
  Number.parseInt(to.slice(0, DIGITS), 16) - Number.parseInt(from.slice(0, DIGITS), 16);

/** @throws {RangeError} for a position of another engine's log. */
export const parsePosition = (position: Position): ServerPosition => {
  if (!SHAPE.test(position)) throw new RangeError(`"${position}" is no position of an EventStoreDB log`);
  return { commit: BigInt(`0x${position.slice(0, DIGITS)}`), prepare: BigInt(`0x${position.slice(DIGITS)}`) };
};
