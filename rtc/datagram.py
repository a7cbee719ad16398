"""What the network adds to a packet of ours: IP, UDP, and what SRTP or SRTCP puts behind it."""

from __future__ import annotations

# RFC 791 and RFC 768; what a relay or IPv6 adds is not known here.
IP_UDP_BYTES = 28
# RFC 7714 sections 12 and 13: the tag of AEAD_AES_*_GCM, which aiortc and browsers agree on. It is the
# largest that can be negotiated: AES_CM_128_HMAC_SHA1_80 has 10 bytes (RFC 3711 section 4.2.1).
SRTP_TAG_BYTES = 16
# RFC 7714 section 9.1 and RFC 3711 section 3.4: the word of SRTCP's flag and index.
SRTCP_INDEX_BYTES = 4
RTP_OVERHEAD_BYTES = IP_UDP_BYTES + SRTP_TAG_BYTES
RTCP_OVERHEAD_BYTES = RTP_OVERHEAD_BYTES + SRTCP_INDEX_BYTES
