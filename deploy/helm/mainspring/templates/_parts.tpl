{{/* What the parts of the server share: names, labels, settings, and the shape of a pod. */}}

{{- define "mainspring.labels" -}}
app.kubernetes.io/name: mainspring
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mainspring.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "mainspring.environment" -}}
- name: MAINSPRING_DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ .Values.secretName }}, key: database-url } }
{{- if eq .Values.transport "celery" }}
- name: MAINSPRING_BROKER_URL
  valueFrom: { secretKeyRef: { name: {{ .Values.secretName }}, key: broker-url } }
{{- end }}
- { name: MAINSPRING_TRANSPORT, value: {{ .Values.transport | quote }} }
- { name: MAINSPRING_PUBLIC_URL, value: {{ .Values.publicUrl | quote }} }
- { name: MAINSPRING_STOP_SECONDS, value: {{ .Values.stopSeconds | quote }} }
# The group of the pod can read a mounted secret, and the vault wants a file that is its own. So
# the key is handed over by a program.
- { name: MAINSPRING_MASTER_KEY_COMMAND, value: cat /etc/mainspring/master-key }
- { name: MAINSPRING_ARTIFACTS_URL, value: {{ .Values.artifacts.url | quote }} }
{{- if .Values.artifacts.keysInSecret }}
- name: MAINSPRING_ARTIFACTS_KEY_ID
  valueFrom: { secretKeyRef: { name: {{ .Values.secretName }}, key: artifacts-key-id } }
- name: MAINSPRING_ARTIFACTS_KEY
  valueFrom: { secretKeyRef: { name: {{ .Values.secretName }}, key: artifacts-key } }
{{- end }}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{/* Called with root, part (a word), settings (of that part) and command (a list). */}}
{{- define "mainspring.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .root.Release.Name }}-{{ .part }}
  labels:
    {{- include "mainspring.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  {{- if not .scaled }}
  replicas: {{ .settings.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "mainspring.labels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
  template:
    metadata:
      labels:
        {{- include "mainspring.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .part }}
    spec:
      automountServiceAccountToken: false
      # Longer than steps may take to finish, and what is left to be handed back.
      terminationGracePeriodSeconds: {{ add .root.Values.stopSeconds 15 }}
      securityContext:
        {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      containers:
        - name: {{ .part }}
          image: {{ include "mainspring.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            {{- toYaml .command | nindent 12 }}
          env:
            {{- include "mainspring.environment" .root | nindent 12 }}
          {{- with .root.Values.extraEnvFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if eq .part "api" }}
          ports:
            - { name: http, containerPort: 8420 }
          startupProbe:
            httpGet: { path: /api/v1/health/live, port: http }
            periodSeconds: 2
            failureThreshold: 60
          readinessProbe:
            httpGet: { path: /api/v1/health/ready, port: http }
            periodSeconds: 5
            timeoutSeconds: 5
          livenessProbe:
            httpGet: { path: /api/v1/health/live, port: http }
            periodSeconds: 10
            timeoutSeconds: 5
          {{- end }}
          resources:
            {{- toYaml .settings.resources | nindent 12 }}
          securityContext:
            {{- toYaml .root.Values.securityContext | nindent 12 }}
          volumeMounts:
            - { name: home, mountPath: /var/lib/mainspring }
            - { name: key, mountPath: /etc/mainspring, readOnly: true }
      volumes:
        - name: home
          emptyDir: {}
        - name: key
          secret:
            secretName: {{ .root.Values.secretName }}
            items: [{ key: master-key, path: master-key }]
      {{- with .root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
