/** What a domain says of its mail hosts (RFC 8461 §3.2). */
export interface StsPolicy {
  /** `enforce`: no mail to other hosts than these, nor without a certificate that is valid for the host. */
  readonly mode: 'enforce' | 'testing' | 'none';
  /** Lower case; `*.` may stand for one label at the beginning. */
  readonly mx: readonly string[];
  readonly maxAgeSeconds: number;
}

/** A year: the largest there is (RFC 8461 §3.2). */
const MAX_AGE_SECONDS_MAX = 31_557_600;

const LINE = /^(?<name>[a-z0-9][a-z0-9_.-]{0,31}):[ \t]*(?<value>.*)$/i;
const MAX_AGE = /^\d{1,10}$/;
const MX =
  /^(?=.{1,255}$)(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

const MODES = ['enforce', 'testing', 'none'] as const;

interface Field {
  readonly name: string;
  readonly value: string;
}

const fieldsOf = (text: string): readonly Field[] | null => {
  const fields: Field[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const { name, value } = LINE.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) return null;
    fields.push({ name, value: value.trim() });
  }
  return fields;
};

/** Of fields that are there twice the first counts; unknown ones are passed over (RFC 8461 §3.2). Null: no policy. */
export const readStsPolicy = (text: string): StsPolicy | null => {
  const fields = fieldsOf(text) ?? [];
  const first = (name: string): string => fields.find((field) => field.name === name)?.value ?? '';
  const mode = MODES.find((each) => each === first('mode'));
  const mx = fields.filter(({ name }) => name === 'mx').map(({ value }) => value.toLowerCase());
  const isWhole = first('version') === 'STSv1' && MAX_AGE.test(first('max_age')) && (mx.length > 0 || mode === 'none');
  if (mode === undefined || !isWhole || !mx.every((pattern) => MX.test(pattern))) return null;
  return { mode, mx, maxAgeSeconds: Math.min(Number(first('max_age')), MAX_AGE_SECONDS_MAX) };
};

const afterFirstLabel = (host: string): string => host.slice(host.indexOf('.') + 1);

/** Whether a host is one of the policy's: `*.example.com` is `mx.example.com`, and not `a.b.example.com` (RFC 8461 §4.1). */
export const mxMatches = ({ mx }: Pick<StsPolicy, 'mx'>, host: string): boolean => {
  const plain = host.toLowerCase().replace(/\.$/, '');
  return mx.some((pattern) =>
    pattern.startsWith('*.') ? plain.includes('.') && afterFirstLabel(plain) === pattern.slice(2) : plain === pattern,
  );
};
