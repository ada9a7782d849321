import { nameIn, type OpenApi } from '../../support/openapi/document.ts';
import { hostileText } from './hostile.ts';
import type { Random } from './random.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

export type Sampler = (schema: object, name: string) => unknown;

const ID = /^\^([a-z]{3})_\[/;
/** Long enough for every field that is not meant to be too long. */
const TEXT_LENGTH = 24;

/**
 * Generates values that a schema of the document allows, or almost allows.
 * @param known returns a value that the service accepts for a field of this name, if there is one.
 */
export const sampler = (
  { components }: OpenApi,
  random: Random,
  known: (name: string, prefix: string | undefined) => unknown,
): Sampler => {
  const object = ({ properties = {}, required = [] }: Schema): unknown =>
    Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => required.includes(name) || random.chance(0.4))
        .map(([name, schema]) => [name, sample(schema, name)]),
    );

  const number = ({ minimum = 0, maximum = 1_000_000 }: Schema): number =>
    random.pick([minimum, maximum, Math.floor(minimum + random.int(Math.max(1, maximum - minimum)))]);

  const text = ({ minLength = 0, maxLength = TEXT_LENGTH, pattern }: Schema, name: string): unknown => {
    const found = known(name, ID.exec(pattern ?? '')?.[1]);
    if (found !== undefined && random.chance(0.8)) return found;
    if (random.chance(0.3)) return hostileText(random);
    return random.pick(['a', 'x'.repeat(maxLength), 'y'.repeat(minLength), 'Hello']);
  };

  const byType: Readonly<Record<string, (schema: Schema, name: string) => unknown>> = {
    object: (schema) => object(schema),
    array: ({ items = {} }, name) => Array.from({ length: 1 + random.int(3) }, () => sample(items, name)),
    string: text,
    integer: number,
    number,
    boolean: () => random.chance(0.5),
    null: () => null,
  };

  const ofType = (schema: Schema, name: string): unknown => {
    if (schema.anyOf !== undefined) return sample(random.pick(schema.anyOf), name);
    const type = random.pick([schema.type ?? 'string'].flat());
    return byType[type]?.(schema, name);
  };

  const sample = (schema: Schema, name: string): unknown => {
    const { $ref, const: only, enum: values } = schema;
    if ($ref !== undefined) return sample(components.schemas[nameIn($ref)] ?? {}, name);
    if (only !== undefined) return only;
    return values === undefined ? ofType(schema, name) : random.pick(values);
  };

  return sample;
};
