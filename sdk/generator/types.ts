/** Writes JSON Schemas of the OpenAPI document as TypeScript. */

/** The parts of a JSON Schema that the document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

/** Names that would hide a global of browsers or Node. */
const RENAMED: Readonly<Record<string, string>> = { Event: 'OutboxEvent', Error: 'ErrorAnswer', Page: 'HtmlPage' };

/** Name of a component in TypeScript. */
export const nameOf = (component: string): string => RENAMED[component] ?? component;

/** Component that a reference leads to. */
export const componentOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

const isIdentifier = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name);

/** A doc comment before a declaration; empty without words. @param indent spaces. */
export const commentOf = (words: string | undefined, indent: string): string => {
  if (words === undefined || words === '') return '';
  const lines = words.replaceAll('*/', '*\\/').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
};

interface Writing {
  readonly indent: string;
  /** Arrays and fields that are sent may be readonly. */
  readonly isSent: boolean;
}

const literal = (value: unknown): string => JSON.stringify(value).replace(/^"(.*)"$/, "'$1'");

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ');

const arrayOf = ({ items = {} }: Schema, writing: Writing): string => {
  const item = typeOf(items, writing);
  return `${writing.isSent ? 'readonly ' : ''}${item.includes(' | ') ? `(${item})` : item}[]`;
};

const fieldOf = (name: string, schema: Schema, isRequired: boolean, writing: Writing): string => {
  const comment = commentOf(schema.description, writing.indent);
  const key = isIdentifier(name) ? name : `'${name}'`;
  const absent = isRequired ? '' : ' | undefined';
  return `${comment}${writing.indent}${key}${isRequired ? '' : '?'}: ${typeOf(schema, writing)}${absent};\n`;
};

/** Its members between braces. */
export const membersOf = ({ properties = {}, required = [] }: Schema, { indent, isSent }: Writing): string => {
  const inner = { indent: `${indent}  `, isSent };
  const fields = Object.entries(properties).map(([name, schema]) =>
    fieldOf(name, schema, required.includes(name), inner),
  );
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('')}${indent}}`;
};

const objectOf = (schema: Schema, writing: Writing): string => {
  const { properties, additionalProperties } = schema;
  if (properties !== undefined) return membersOf(schema, writing);
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, writing) : 'unknown';
  return `Record<string, ${values}>`;
};

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

const typeNamed = (type: string, schema: Schema, writing: Writing): string => {
  if (type === 'array') return arrayOf(schema, writing);
  if (type === 'object') return objectOf(schema, writing);
  const simple = SIMPLE[type];
  if (simple === undefined) throw new Error(`what is a schema of type ${type}?`);
  return simple;
};

/** The TypeScript type of a schema. @throws {Error} what it uses is not known here. */
export const typeOf = (schema: Schema, writing: Writing): string => {
  if (schema.$ref !== undefined) return nameOf(componentOf(schema.$ref));
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return unionOf(schema.enum.map(literal));
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) return unionOf(variants.map((variant) => typeOf(variant, writing)));
  const { type } = schema;
  if (type === undefined) return 'unknown';
  return unionOf((typeof type === 'string' ? [type] : type).map((one) => typeNamed(one, schema, writing)));
};

/** Names of all components that a schema leads to, itself included, in the order found. */
export const reachable = (
  schema: unknown,
  components: Readonly<Record<string, Schema>>,
  found: Set<string> = new Set(),
): ReadonlySet<string> => {
  if (typeof schema !== 'object' || schema === null) return found;
  const { $ref } = schema as Schema;
  if ($ref !== undefined && !found.has(componentOf($ref))) {
    found.add(componentOf($ref));
    reachable(components[componentOf($ref)], components, found);
  }
  for (const part of Object.values(schema)) reachable(part, components, found);
  return found;
};

const isSentIn = (component: string): boolean => component.endsWith('Request');

const isSameField = (name: string, one: Schema, other: Schema): boolean =>
  JSON.stringify(one.properties?.[name]) === JSON.stringify(other.properties?.[name]) &&
  one.required?.includes(name) === other.required?.includes(name);

const sizeOf = ({ properties = {} }: Schema): number => Object.keys(properties).length;

/** Fewer fields in common are a coincidence. */
const SHARED_FIELDS_MIN = 4;

/** The component with most fields that is all part of this one; undefined: none. */
const baseOf = (component: string, components: Readonly<Record<string, Schema>>): string | undefined => {
  const schema = components[component] ?? {};
  const names = Object.keys(components);
  const isBase = (other: string): boolean => {
    const base = components[other] ?? {};
    if (other === component || isSentIn(other) !== isSentIn(component) || sizeOf(base) < SHARED_FIELDS_MIN)
      return false;
    const comesFirst = sizeOf(base) < sizeOf(schema) || names.indexOf(other) < names.indexOf(component);
    return comesFirst && Object.keys(base.properties ?? {}).every((name) => isSameField(name, base, schema));
  };
  return names.filter(isBase).sort((one, other) => sizeOf(components[other] ?? {}) - sizeOf(components[one] ?? {}))[0];
};

const without = (schema: Schema, base: Schema): Schema => ({
  ...schema,
  properties: Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name]) => base.properties?.[name] === undefined),
  ),
});

/** A declaration of a component. What it shares with another is not repeated. */
export const declarationOf = (component: string, components: Readonly<Record<string, Schema>>): string => {
  const schema = components[component] ?? {};
  const writing = { indent: '', isSent: isSentIn(component) };
  const comment = commentOf(schema.description, '');
  const name = nameOf(component);
  if (schema.properties === undefined) return `${comment}export type ${name} = ${typeOf(schema, writing)};\n`;
  const base = baseOf(component, components);
  if (base === undefined) return `${comment}export interface ${name} ${membersOf(schema, writing)}\n`;
  const more = without(schema, components[base] ?? {});
  if (sizeOf(more) === 0) return `${comment}export type ${name} = ${nameOf(base)};\n`;
  return `${comment}export interface ${name} extends ${nameOf(base)} ${membersOf(more, writing)}\n`;
};
