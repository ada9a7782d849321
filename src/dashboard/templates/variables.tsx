import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedContent } from '../../http/resources/templates/template.ts';
import { Icon } from '../components/icons.tsx';

/** Variables of a template. Previews and test messages use their examples. */

type Variable = SerializedContent['variables'][number];

const TYPES: Readonly<Record<Variable['type'], string>> = {
  string: 'text',
  number: 'number',
  boolean: 'yes or no',
  date: 'date',
  url: 'URL',
  list: 'list',
  object: 'object',
};
const EXAMPLES: Readonly<Record<Variable['type'], string>> = {
  string: 'Ann',
  number: '3',
  boolean: 'true',
  date: '2026-01-31',
  url: 'https://example.com/',
  list: '["a", "b"]',
  object: '{"name": "Ann"}',
};
const LITERAL: readonly string[] = ['string', 'date', 'url'] satisfies Variable['type'][];

const written = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** @returns undefined if the field is empty or not yet a valid value. */
const readAs = (type: Variable['type'], text: string): unknown => {
  if (text === '') return undefined;
  if (LITERAL.includes(type)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // saving or rendering rejects it and names the variable
  }
};

/** An undefined value removes the field, because JSON omits it. */
const withValue = (variable: Variable, name: 'example' | 'default', text: string): Variable => ({
  ...variable,
  [name]: readAs(variable.type, text),
});

interface ValueProps {
  readonly variable: Variable;
  readonly name: 'example' | 'default';
  readonly isReadOnly: boolean;
  onChange(variable: Variable): void;
}

const Value = ({ variable, name, isReadOnly, onChange }: ValueProps): JSX.Element => (
  <input
    aria-label={`${name === 'example' ? 'Example' : 'Default'} of ${variable.name}`}
    placeholder={EXAMPLES[variable.type]}
    defaultValue={written(variable[name])}
    readOnly={isReadOnly}
    onInput={({ currentTarget }) => onChange(withValue(variable, name, currentTarget.value))}
  />
);

interface VariablesProps {
  readonly variables: readonly Variable[];
  readonly isReadOnly: boolean;
  onChange(variables: Variable[]): void;
}

const AddVariable = ({ onAdd }: { onAdd(name: string): void }): JSX.Element => {
  const [name, setName] = useState('');
  const add = (event: SubmitEvent): void => {
    event.preventDefault();
    onAdd(name);
    setName('');
  };
  return (
    <form class="addvar" onSubmit={add}>
      <input
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value.trim())}
        aria-label="Name of a new variable"
        placeholder="new variable"
        pattern="[A-Za-z_][A-Za-z0-9_]{0,63}"
        required
      />
      <button type="submit" class="btn small">
        <Icon name="plus" />
        Declare
      </button>
    </form>
  );
};

export const TemplateVariables = ({ variables, isReadOnly, onChange }: VariablesProps): JSX.Element => {
  const put = (variable: Variable): void =>
    onChange(variables.map((one) => (one.name === variable.name ? variable : one)));
  return (
    <div class="vars">
      {variables.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Variable</th>
              <th scope="col">Type</th>
              <th scope="col">If missing</th>
              <th scope="col">For this preview</th>
              {!isReadOnly && (
                <th scope="col">
                  <span class="vh">Remove</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {variables.map((variable) => (
              <tr key={variable.name}>
                <td>
                  <code class="any">{variable.name}</code>
                </td>
                <td>
                  <select
                    class="pick"
                    aria-label={`Type of ${variable.name}`}
                    value={variable.type}
                    disabled={isReadOnly}
                    onChange={({ currentTarget }) =>
                      put({ ...variable, type: currentTarget.value as Variable['type'] })
                    }
                  >
                    {Object.entries(TYPES).map(([type, word]) => (
                      <option key={type} value={type}>
                        {word}
                      </option>
                    ))}
                  </select>
                </td>
                <td>
                  <select
                    class="pick"
                    aria-label={`If ${variable.name} is missing`}
                    value={variable.required ? 'refuse' : 'take'}
                    disabled={isReadOnly}
                    onChange={({ currentTarget }) => put({ ...variable, required: currentTarget.value === 'refuse' })}
                  >
                    <option value="refuse">reject the message</option>
                    <option value="take">use the default</option>
                  </select>{' '}
                  {!variable.required && (
                    <Value variable={variable} name="default" isReadOnly={isReadOnly} onChange={put} />
                  )}
                </td>
                <td>
                  <Value variable={variable} name="example" isReadOnly={isReadOnly} onChange={put} />
                </td>
                {!isReadOnly && (
                  <td>
                    <button
                      type="button"
                      class="btn ghost small square"
                      aria-label={`Remove ${variable.name}`}
                      onClick={() => onChange(variables.filter(({ name }) => name !== variable.name))}
                    >
                      <Icon name="cross" />
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!isReadOnly && (
        <AddVariable
          onAdd={(name) => {
            if (variables.some((one) => one.name === name)) return;
            onChange([...variables, { name, type: 'string', required: true }]);
          }}
        />
      )}
    </div>
  );
};
