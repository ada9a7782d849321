import type { JSX } from 'preact';
import type { SerializedDomainReputation, SerializedMeasurement } from '../../http/schemas/sender-reputation.ts';
import { count } from '../data/time.ts';
import { Status } from './icons.tsx';

/** Bounce and complaint rates of a sender's bulk mail, compared with the limits. */

export const LEVELS = {
  good: { state: 'active', word: 'Good', text: 'Nothing is held back.' },
  warned: { state: 'warning', word: 'Warned', text: 'Nothing is held back yet.' },
  slowed: { state: 'deferred', word: 'Slowed', text: 'Bulk mail leaves one message at a time.' },
  paused: { state: 'fault', word: 'Paused', text: 'Bulk mail waits until it is released or the rates have fallen.' },
} as const;

/** Scale maximum relative to the highest limit, which leaves room for values above it. */
const ABOVE = 1.25;

const percentOf = (value: number, all: number): string => `${Math.min(100, (100 * value) / all).toFixed(1)}%`;

const Track = ({ measured: { percent, limits } }: { readonly measured: SerializedMeasurement }): JSX.Element | null => {
  if (limits === null) return null;
  const { warned_percent: warned, slowed_percent: slowed, paused_percent: paused } = limits;
  const all = paused * ABOVE;
  return (
    <div
      class="track2"
      role="img"
      aria-label={`${percent} % on a scale that is warned at ${warned} %, slowed at ${slowed} % and paused at ${paused} %`}
      style={{ '--warned': percentOf(warned, all), '--paused': percentOf(paused, all) }}
    >
      <i style={{ left: percentOf(percent, all) }} />
    </div>
  );
};

const Measured = ({
  name,
  measured,
}: {
  readonly name: string;
  readonly measured: SerializedMeasurement;
}): JSX.Element => (
  <div class="row">
    <div class="t">
      <span>{name}</span>
      <span class="num b">{measured.percent} %</span>
    </div>
    <Track measured={measured} />
    <p class="muted small">
      {count(measured.count)} of {count(measured.of)} recipients
    </p>
  </div>
);

const NAMES = ['warned', 'slowed', 'paused'] as const;

/** Lists the limits: warned at 2 % and 0.08 %, slowed at 4 % and 0.2 %, … */
const sentenceOf = ({ bounces, complaints }: Pick<SerializedDomainReputation, 'bounces' | 'complaints'>): string => {
  const limits = [bounces.limits, complaints.limits].filter((one) => one !== null);
  if (limits.length === 0) return 'It is not judged.';
  const parts = NAMES.map((name) => `${name} at ${limits.map((one) => `${one[`${name}_percent`]} %`).join(' and ')}`);
  const text = `${parts.slice(0, -1).join(', ')}, ${parts.at(-1)}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
};

interface GaugeProps {
  readonly reputation: Pick<SerializedDomainReputation, 'level' | 'bounces' | 'complaints'>;
  readonly children?: JSX.Element | false | undefined;
}

/** @param children an action next to the level. */
export const ReputationGauge = ({ reputation, children }: GaugeProps): JSX.Element => {
  const { state, word, text } = LEVELS[reputation.level];
  return (
    <>
      <div class="t">
        <Status state={state} word={word} />
        {children}
      </div>
      <Measured name="Bounces" measured={reputation.bounces} />
      <Measured name="Complaints" measured={reputation.complaints} />
      <p class="muted small">
        Bulk mail of the last seven days. {sentenceOf(reputation)} {text}
      </p>
    </>
  );
};
