import { alerts } from '../../alerts/alert.ts';
import { metricNames, metricThresholds } from '../../alerts/metrics.ts';
import { type ConfigType, contactPointTypes } from '../../contact-points/config.ts';
import { contactPoints } from '../../contact-points/contact-point.ts';
import { type Form, type FormPlace, type FormValues, formsOf } from './form.ts';

/** A config that is accepted for each type; every secret in it is made up. */
const configs = {
  email: { addresses: ['on-call@example.com'] },
  webhook: { url: 'https://hooks.example.com/made-up', httpMethod: 'POST' },
  incident_service: { integrationKey: 'made-up-key', severity: 'critical' },
  chat_webhook_a: { webhookUrl: 'https://chat-a.example.com/made-up', channel: '#on-call' },
  chat_webhook_b: { webhookUrl: 'https://chat-b.example.com/made-up' },
  chat_webhook_c: { webhookUrl: 'https://chat.example.com/made-up' },
} as const satisfies Readonly<Record<ConfigType, FormValues>>;

const aPoint = 'contactPointId* @contactPoints';
const anAlert = 'alertId* @alerts';
const words = 'aggregation =mean|max|min|last, queryRange =queryRanges';

/** Contact points and alerts. */
export const alertForms: readonly Form[] = [
  ...formsOf('Contact points', {
    'GET /contact-points': ['lists the contact points of an account', 'accountId* @accounts'],
    'POST /contact-point': [
      'creates a contact point',
      'accountId* @accounts, name*, type* =contactPointTypes, config{}* <type',
      newPoint,
    ],
    'GET /contact-point': ['shows a contact point, with its secrets on request', `${aPoint}, showSecrets?`],
    'PATCH /contact-point': [
      'changes a contact point; secrets that are not sent stay',
      `${aPoint}, name <contactPointId, config{} <contactPointId`,
      (at) => ({ name: at.row('contactPointId', contactPoints)?.name }),
    ],
    'DELETE /contact-point': ['deletes a contact point that no alert uses', aPoint],
  }),
  ...formsOf('Alerts', {
    'GET /app-env/alerts': ['lists the alerts of an environment', 'appEnvId* @environments'],
    'POST /app-env/alert': [
      'creates an alert',
      `appEnvId* @environments, envName, name*, description, metric* =metricNames, operator* =gt|lt, threshold#* <metric,
      duration* =durations, ${words}, contactPointIds[]* @contactPoints, contactPointNames[]`,
      newAlert,
    ],
    'GET /alert': ['shows an alert', anAlert],
    'PATCH /alert': [
      'changes an alert',
      `${anAlert}, name, description, metric =metricNames, operator =gt|lt, threshold# <alertId,
      duration =durations <alertId, ${words}, contactPointIds[] @contactPoints, enabled?`,
      (at) => {
        const alert = at.row('alertId', alerts);
        return { threshold: alert?.threshold, duration: alert?.duration };
      },
    ],
    'DELETE /alert': ['deletes an alert', anAlert],
    'POST /alert/toggle': [
      'pauses an alert, or lets it go on',
      `${anAlert}, enabled?* <alertId`,
      (at) => ({ enabled: at.row('alertId', alerts)?.enabled === false }),
    ],
    'POST /alert/refresh': ['fetches the live state', anAlert],
  }),
];

function newPoint(at: FormPlace): FormValues {
  const type = contactPointTypes.find((each) => each === at.chosen('type')) ?? 'email';
  return { name: at.freeName('On call', contactPoints, ({ name }) => name), type, config: configs[type] };
}

function newAlert(at: FormPlace): FormValues {
  const metric = metricNames.find((each) => each === at.chosen('metric')) ?? 'cpu_percent';
  const point = at.rows(contactPoints)[0]?.contactPointId;
  return {
    name: at.freeName('busy', alerts, ({ name }) => name),
    metric,
    operator: 'gt',
    threshold: metricThresholds[metric],
    duration: '1m',
    contactPointIds: point === undefined ? undefined : [point],
  };
}
