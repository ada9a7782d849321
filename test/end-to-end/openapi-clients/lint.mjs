// Lints an OpenAPI document by the recommended rules of Redocly and Spectral; prints one JSON array of problems.
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectralCore from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';

const file = process.argv[2];
const source = readFileSync(file, 'utf8');

const redocly = await lintFromString({
  source,
  absoluteRef: file,
  config: await createConfig({ extends: ['recommended'] }),
});
const spectral = new spectralCore.Spectral();
// That rule mistakes a template variable in an example, with its `type`, `required` and `example`, for a schema.
spectral.setRuleset({ extends: [rulesets.oas], rules: { 'oas3-valid-schema-example': 'off' } });
const found = await spectral.run(new spectralCore.Document(source, parsers.Json, file));

const problems = [
  ...redocly.map(({ ruleId, message, location }) => `redocly ${ruleId} ${location[0]?.pointer}: ${message}`),
  ...found.map(({ code, message, path }) => `spectral ${code} ${path.join('/')}: ${message}`),
];
process.stdout.write(JSON.stringify(problems));
