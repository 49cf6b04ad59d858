import { type ControlRoute, ok, control } from '../area.ts';
import { environmentNamed } from '../environments/environment.ts';
import { choice, list, number, onlyFields, optional, type Reads, required, text } from '../http/fields.ts';
import { invalid } from '../http/refusal.ts';
import { evaluateAll } from './evaluation.ts';
import { type Metric, metricNames, metrics } from './metrics.ts';

const metricValue: Reads<Metric['value']> = (value, name) => {
  if (value === null || value === 'error') return value;
  if (typeof value !== 'number') throw invalid(`${name} must be a number, null or "error"`);
  return number()(value, name);
};

/** Sets metrics, and has the alert engine evaluate at once. */
export const metricRoutes: readonly ControlRoute[] = [
  control('POST /metrics', 'the value of a metric from now on: {appEnvId, metric, value, pods?}', ({ world, body }) => {
    onlyFields(body, '', ['appEnvId', 'metric', 'value', 'pods']);
    const { appEnvId } = environmentNamed(world, required(body, 'appEnvId', text()));
    const metric = required(body, 'metric', choice(metricNames));
    const value = required(body, 'value', metricValue);
    const pods = optional(body, 'pods', list(number(), { max: 1000 })) ?? [];
    world.of(metrics).put({ appEnvId, metric, value, pods });
    return ok({ appEnvId, metric });
  }),
  control('POST /alerts/evaluate', 'evaluates every rule now', ({ world, body }) => {
    onlyFields(body, '', []);
    evaluateAll(world);
    return ok({});
  }),
];
